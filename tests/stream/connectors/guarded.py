"""Brokers behind TLS and a password, as an operator sets them up: those that let in, and how a topic gets there."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import nats
import psycopg
import redis
from authority import HOST, Authority
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from servers import Mosquitto, NatsServer, PostgresServer, RedisServer, Server, free_port, program

from sfumato.stream.connectors.mqtt.session import properties

USER, PASSWORD = "ana", "open-sesame"
SOURCE_RIGHTS = "+eval +exists +xinfo +xread +xreadgroup +xgroup +xpending +xack"
SINK_RIGHTS = "+eval +exists +xinfo +xadd +xrange +xrevrange"


class Guarded(Server):
    """A broker that lets `user` in, with `PASSWORD` and by TLS alone, at `secure_port`.

    `scheme` and `plain` are its addresses' with TLS and without, `variable` holds the password; `sink` is another user
    for what is written, where the tests give each the least rights.
    """

    scheme: str
    plain: str
    variable: str
    user: str | None = USER
    sink: str | None = USER
    trusting = "ca={}"  # how an address names the authority

    @property
    def secure_port(self) -> int:
        """Where it wants TLS."""
        return self.port

    def address(
        self,
        topic: str,
        ca: Path | None,
        *,
        host: str = HOST,
        scheme: str = "",
        user: str | None = None,
        more: str = "",
    ) -> str:
        """Return the address of a topic, with the file of an authority."""
        who = self.user if user is None else user
        options = "&".join(filter(None, ["" if ca is None else self.trusting.format(ca), more]))
        login = f"{who}@" if who else ""
        return f"{scheme or self.scheme}://{login}{host}:{self.secure_port}/{topic}{'?' if options else ''}{options}"

    @abstractmethod
    def make(self, *topics: str) -> None:
        """Make topics that are read, empty."""

    @abstractmethod
    def fill(self, topic: str, payloads: Sequence[bytes]) -> None:
        """Put messages into a topic."""


class GuardedRedis(RedisServer, Guarded):
    """Redis, whose users may do what the guide says and no more."""

    scheme, plain, variable, sink = "rediss", "redis", "SFUMATO_REDIS_PASSWORD", "bo"

    def __init__(self, folder: Path, authority: Authority) -> None:
        super().__init__(folder)
        self._authority, self._secure_port = authority, free_port()
        users = [
            "user default off",
            "user admin on nopass ~* &* +@all",
            f"user {USER} on >{PASSWORD} ~rides* {SOURCE_RIGHTS}",
            f"user bo on >{PASSWORD} ~rows* {SINK_RIGHTS}",
        ]
        (folder / "users").write_text("\n".join([*users, ""]))

    @property
    def secure_port(self) -> int:
        return self._secure_port

    def command(self) -> list[str]:
        one = self._authority
        files = ["--tls-cert-file", str(one.certificate), "--tls-key-file", str(one.key)]
        files += ["--tls-ca-cert-file", str(one.ca), "--tls-auth-clients", "no"]
        return [*super().command(), "--tls-port", str(self._secure_port), *files, "--aclfile", f"{self.folder}/users"]

    def answers(self) -> bool:
        try:
            return bool(self._client().ping())
        except redis.ConnectionError:
            return False

    def _client(self) -> redis.Redis:
        return redis.Redis(port=self.port, username="admin", password="any", protocol=2)  # noqa: S106  # it has none

    def make(self, *topics: str) -> None:
        with self._client() as client:
            for topic in topics:
                client.xadd(topic, {"m": b"x"}, id="1-1")
                client.xdel(topic, "1-1")

    def fill(self, topic: str, payloads: Sequence[bytes]) -> None:
        with self._client() as client:
            for payload in payloads:
                client.xadd(topic, {"m": payload})


class GuardedNats(NatsServer, Guarded):
    """NATS, with a user or, `token=True`, a token."""

    scheme, plain, variable = "nats+tls", "nats", "SFUMATO_NATS_PASSWORD"

    def __init__(self, folder: Path, authority: Authority, *, token: bool = False) -> None:
        super().__init__(folder)
        self._authority = authority
        self.user = self.sink = "" if token else USER
        who = f'token: "{PASSWORD}"' if token else f'user: {USER}, password: "{PASSWORD}"'
        tls = f'cert_file: "{authority.certificate}", key_file: "{authority.key}"'
        (folder / "conf").write_text(f"tls {{ {tls} }}\nauthorization {{ {who} }}\n")

    def command(self) -> list[str]:
        return [*super().command(), "--config", str(self.folder / "conf")]

    async def _with(self, topics: Sequence[str], payloads: Sequence[bytes]) -> None:
        context = ssl.create_default_context(cafile=self._authority.ca)
        login = {"user": USER, "password": PASSWORD} if self.user else {"token": PASSWORD}
        client = await nats.connect(f"nats://{HOST}:{self.port}", tls=context, **login)
        streams = client.jetstream(timeout=20)
        for topic in topics:
            if not payloads:
                await streams.add_stream(name=topic, subjects=[topic])
            for payload in payloads:
                await streams.publish(topic, payload)
        await client.close()

    def make(self, *topics: str) -> None:
        asyncio.run(self._with(topics, ()))

    def fill(self, topic: str, payloads: Sequence[bytes]) -> None:
        asyncio.run(self._with([topic], payloads))


class GuardedMosquitto(Mosquitto, Guarded):
    """Mosquitto with a file of passwords; the tests themselves come by another door, without TLS."""

    scheme, plain, variable = "mqtts", "mqtt", "SFUMATO_MQTT_PASSWORD"

    def __init__(self, folder: Path, authority: Authority) -> None:
        self._secure_port = free_port()
        lines = [
            "allow_anonymous false",
            f"password_file {folder}/passwords",
            f"listener {self._secure_port} 127.0.0.1",
        ]
        super().__init__(folder, *lines, f"certfile {authority.certificate}", f"keyfile {authority.key}")
        (folder / "passwords").write_text(f"{USER}:{PASSWORD}\n")
        subprocess.run([program("mosquitto_passwd"), "-U", f"{folder}/passwords"], check=True, capture_output=True)

    @property
    def secure_port(self) -> int:
        return self._secure_port

    def make(self, *topics: str) -> None:
        """Let the broker keep what comes for the session of the name `reader`."""
        client = self._client("reader")
        client.loop_start()
        for topic in topics:
            client.subscribe(topic, 1)
        self._leave(client)

    def fill(self, topic: str, payloads: Sequence[bytes]) -> None:
        client = self._client("device")
        client.loop_start()
        for number, payload in enumerate(payloads):
            named = properties("PUBLISH", UserProperty=[("number", str(number))])
            client.publish(topic, payload, 1, properties=named).wait_for_publish(10)
        self._leave(client)

    def _client(self, name: str) -> Client:
        client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
        client.username_pw_set(USER, PASSWORD)
        lasting = properties("CONNECT", SessionExpiryInterval=3600)
        client.connect("127.0.0.1", self.port, clean_start=False, properties=lasting)
        return client

    @staticmethod
    def _leave(client: Client) -> None:
        client.disconnect()
        client.loop_stop()


class GuardedPostgres(PostgresServer, Guarded):
    """PostgreSQL with scram passwords, by TLS alone; the tests themselves come by its socket."""

    scheme = plain = "postgresql"
    variable = "PGPASSWORD"
    trusting = "sslmode=verify-full&sslrootcert={}"

    def __init__(self, authority: Authority) -> None:
        super().__init__()
        for file in (authority.certificate, authority.key):
            shutil.copy2(file, self.folder / file.name)
            if self.owner is not None:
                shutil.chown(self.folder / file.name, self.owner)
        doors = ["local all all trust", "hostssl all all 127.0.0.1/32 scram-sha-256", ""]
        (self.folder / "data" / "pg_hba.conf").write_text("\n".join(doors))

    def command(self) -> list[str]:
        files = {"ssl_cert_file": "server.pem", "ssl_key_file": "server.key"}
        settings = ["ssl=on", *(f"{name}={self.folder / file}" for name, file in files.items())]
        return [*super().command(), *(part for setting in settings for part in ("-c", setting))]

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        place = {"host": str(self.folder), "port": self.port}
        return psycopg.connect(user="sfumato", dbname="postgres", autocommit=True, **place)  # type: ignore[arg-type]

    def answers(self) -> bool:
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def start(self) -> None:
        super().start()
        with closing(self._connect()) as one:
            one.execute(f"CREATE USER {USER} PASSWORD '{PASSWORD}'")
            one.execute(f"GRANT CREATE ON SCHEMA public TO {USER}")

    def address(
        self,
        topic: str,
        ca: Path | None,
        *,
        host: str = HOST,
        scheme: str = "",
        user: str | None = None,
        more: str = "",
    ) -> str:
        more = "&".join(filter(None, [more, "sslmode=disable" if ca is None else ""]))
        place = super().address("postgres", ca, host=host, scheme=scheme, user=user, more=more)
        return f"{place}#{topic}"

    def make(self, *topics: str) -> None:
        columns = "id bigint GENERATED ALWAYS AS IDENTITY, xid xid8 NOT NULL DEFAULT pg_current_xact_id()"
        with closing(self._connect()) as one:
            for topic in topics:
                one.execute(f"CREATE TABLE {topic} ({columns}, payload text NOT NULL)".encode())
                one.execute(f"GRANT SELECT, DELETE ON {topic} TO {USER}".encode())

    def fill(self, topic: str, payloads: Sequence[bytes]) -> None:
        insert = f"INSERT INTO {topic} (payload) SELECT unnest(%s::text[])"  # the name is ours
        with closing(self._connect()) as one:
            one.execute(insert.encode(), [[payload.decode() for payload in payloads]])
