"""A certificate authority of the tests, which vouches for a server on `localhost`, and one that nobody knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOST, ELSEWHERE = "localhost", "127.0.0.1"  # the name that the certificate has, and one that leads there all the same
DAY = timedelta(days=1)


class Authority:
    """Files in a folder: `ca` and `stranger` are authorities, `certificate` with `key` is the server's, by `ca`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.ca, self.stranger = folder / "ca.pem", folder / "stranger.pem"
        self.certificate, self.key, self.both = folder / "server.pem", folder / "server.key", folder / "both.pem"
        signer, vouching = _key(), _name("tests")
        root = _certificate(vouching, signer, vouching, signer)
        self.ca.write_bytes(_pem(root))
        other = _key()
        self.stranger.write_bytes(_pem(_certificate(_name("stranger"), other, _name("stranger"), other)))
        own = _key()
        secret = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.certificate.write_bytes(_pem(_certificate(_name(HOST), own, vouching, signer, host=HOST)))
        self.key.write_bytes(secret)
        self.key.chmod(0o600)
        self.both.write_bytes(secret + self.certificate.read_bytes() + self.ca.read_bytes())


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    host: str | None = None,
) -> x509.Certificate:
    """Return a certificate for a host, or an authority's own."""
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(now + DAY)
    made = made.add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
    of_subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    of_signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    made = made.add_extension(of_subject, critical=False).add_extension(of_signer, critical=False)
    usage = x509.KeyUsage(True, False, False, False, False, host is None, host is None, False, False)  # noqa: FBT003
    made = made.add_extension(usage, critical=True)
    if host is not None:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        made = made.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return made.sign(signer, hashes.SHA256())
