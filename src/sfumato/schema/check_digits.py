"""Numbers that carry a check: IBAN, credit cards and the national numbers of eight countries.

Each function says whether a text is a valid number, as its issuer defines it: ISO 7064 (IBAN, Steuer-ID), ISO/IEC 7812
(Luhn), and the rules of DNI, NIF, codice fiscale, NIR, CPF and NHS number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
               (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12,
                14, 16, 10, 22, 25, 24, 23), strict=True))  # fmt: skip


def _compact(text: str) -> str:
    return re.sub(r"[\s./-]", "", text).upper()


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN, by its two check digits.

    >>> is_iban("DE89 3704 0044 0532 0130 00"), is_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", compact):
        return False
    return int("".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])) % 97 == 1


def is_card(text: str) -> bool:
    """Return whether a text is a payment card's number, by Luhn's digit.

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[2-6]\d{12,18}", compact):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(compact))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def is_ssn(text: str) -> bool:
    """Return whether a text has the shape of a US social security number, which has no check digit.

    >>> is_ssn("123-45-6789"), is_ssn("000-45-6789")
    (True, False)
    """
    return re.fullmatch(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", text) is not None


def is_steuer_id(text: str) -> bool:
    """Return whether a text is a German tax number (Steuer-ID), by ISO 7064 mod 11, 10.

    >>> is_steuer_id("86 095 742 719"), is_steuer_id("86 095 742 710")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[1-9]\d{10}", compact):
        return False
    product = 10
    for digit in compact[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(compact[10])


def is_dni(text: str) -> bool:
    """Return whether a text is a Spanish DNI or NIE, by its letter.

    >>> is_dni("12345678Z"), is_dni("X1234567L"), is_dni("12345678A")
    (True, True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", compact):
        return False
    return (
        DNI_LETTERS[int(str("XYZ".find(compact[0]) if compact[0] in "XYZ" else compact[0]) + compact[1:8]) % 23]
        == (compact[8])
    )


def is_nif(text: str) -> bool:
    """Return whether a text is a Portuguese NIF, by its last digit.

    >>> is_nif("123456789"), is_nif("123456780")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[1235689]\d{8}", compact):
        return False
    rest = _weighted(compact, range(9, 1, -1)) % 11
    return int(compact[8]) == (0 if rest < 2 else 11 - rest)


def is_codice_fiscale(text: str) -> bool:
    """Return whether a text is an Italian codice fiscale, by its last letter.

    >>> is_codice_fiscale("RSSMRA85T10A562S"), is_codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[A-Z]{6}[\dL-V]{2}[A-EHLMPRST][\dL-V]{2}[A-Z][\dL-V]{3}[A-Z]", compact):
        return False
    total = sum(ODD[letter] for letter in compact[:15:2])
    total += sum(int(letter) if letter.isdigit() else ord(letter) - 65 for letter in compact[1:15:2])
    return chr(65 + total % 26) == compact[15]


def is_nir(text: str) -> bool:
    """Return whether a text is a French social security number (NIR), by its two-digit key.

    >>> is_nir("2 55 08 14 168 025 38"), is_nir("2 55 08 14 168 025 39")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"[1-478]\d{2}(0[1-9]|1[0-2]|[2-9]\d)(\d{2}|2[AB])\d{6}\d{2}", compact):
        return False
    number = compact[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(number) % 97 == int(compact[13:])


def is_cpf(text: str) -> bool:
    """Return whether a text is a Brazilian CPF, by its two last digits.

    >>> is_cpf("529.982.247-25"), is_cpf("529.982.247-26")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"\d{11}", compact) or len(set(compact)) == 1:
        return False
    first = _weighted(compact, range(10, 1, -1)) * 10 % 11 % 10
    second = _weighted(compact, range(11, 1, -1)) * 10 % 11 % 10
    return compact[9:] == f"{first}{second}"


def is_nhs(text: str) -> bool:
    """Return whether a text is a UK NHS number, by its last digit.

    >>> is_nhs("943 476 5919"), is_nhs("943 476 5918")
    (True, False)
    """
    compact = _compact(text)
    if not re.fullmatch(r"\d{10}", compact):
        return False
    check = 11 - _weighted(compact, range(10, 1, -1)) % 11
    return check != 10 and check % 11 == int(compact[9])


CHECKED: dict[str, Callable[[str], bool]] = {
    "IBANs": is_iban,
    "US social security numbers": is_ssn,
    "Spanish DNI or NIE": is_dni,
    "Italian codici fiscali": is_codice_fiscale,
    "French social security numbers (NIR)": is_nir,
    "Brazilian CPF": is_cpf,
    "German tax numbers (Steuer-ID)": is_steuer_id,
    "UK NHS numbers": is_nhs,
    "Portuguese NIF": is_nif,
    "payment card numbers": is_card,
}
