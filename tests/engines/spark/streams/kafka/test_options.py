"""What Spark's Kafka source is told of an address: every option mapped or refused, and a password told to it alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from authority import Authority

from sfumato.engines.spark.streams.kafka import options
from sfumato.engines.spark.streams.kafka.options import reading_options
from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.stream.connectors.base import SHARED_OPTIONS
from sfumato.stream.connectors.kafka import Kafka
from sfumato.stream.connectors.registry import find_connector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def told(address: str) -> dict[str, str]:
    return reading_options(find_connector(address))


def test_only_what_is_committed_is_read_and_nothing_lost_is_passed_over() -> None:
    found = told("kafka://server:9/rides")
    assert found == {
        "subscribe": "rides",
        "failOnDataLoss": "true",
        "kafka.bootstrap.servers": "server:9",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.isolation.level": "read_committed",
    }


def test_every_option_of_an_address_is_mapped_or_refused(tmp_path: Path) -> None:
    ca = Authority(tmp_path).ca
    mapped = {"mechanism": "SCRAM-SHA-256", "ca": str(ca), "password-file": str(tmp_path / "word")}
    for name in {*Kafka.options, *mapped} - {*SHARED_OPTIONS}:
        address = f"kafkas://server/rides?{name}={mapped.get(name, str(ca))}"
        if name in options.UNMAPPED:
            with pytest.raises(ParameterError, match=f"has the option '{name}', which --engine spark does not take"):
                told(address)
        else:
            assert name in mapped
            assert told(address)["kafka.security.protocol"] == "SSL"


def test_tls_and_logins_are_in_the_words_of_java_s_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", 'a "b\\c')
    ca = Authority(tmp_path).ca
    found = told(f"kafkas://ana@server/rides?mechanism=SCRAM-SHA-512&ca={ca}")
    assert found["kafka.security.protocol"] == "SASL_SSL"
    assert found["kafka.ssl.truststore.type"] == "PEM"
    assert found["kafka.ssl.truststore.certificates"].strip() == ca.read_text().strip()
    assert found["kafka.sasl.mechanism"] == "SCRAM-SHA-512"
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    assert found["kafka.sasl.jaas.config"] == login + ' username="ana" password="a \\"b\\\\c";'
    plain = told("kafka://ana@localhost/rides")
    assert "plain.PlainLoginModule" in plain["kafka.sasl.jaas.config"]
    with pytest.raises(ParameterError, match="would send the password readably"):
        told("kafka://ana@server/rides")


@pytest.mark.parametrize("password, sentence", [("", "has a user and no password"), ("a\nb", "control characters")])
def test_a_password_that_is_none_or_cannot_be_told_is_refused(
    monkeypatch: pytest.MonkeyPatch, password: str, sentence: str
) -> None:
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", password)
    with pytest.raises(InputError, match=sentence):
        told("kafkas://ana@server/rides")


def test_a_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    with pytest.raises(InputError, match="has no certificate; give one in PEM"):
        told(f"kafkas://server/rides?ca={tmp_path / 'ca.pem'}")


def test_jars_that_are_missing_are_named_with_the_way_to_get_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "NEEDED", {"java.lang.String": "java", "org.nowhere.Missing": "some-jar"})
    with pytest.raises(
        MissingExtraError, match=re.escape("not have here (some-jar); put them into a folder")
    ) as refused:
        options.refuse_missing_jars(spark)
    assert refused.value.exit_code == 2
    assert "SFUMATO_SPARK_JARS" in str(refused.value)


def test_a_folder_without_a_jar_is_refused(tmp_path: Path) -> None:
    from sfumato.engines.spark.session import _jars

    with pytest.raises(InputError, match="which has no jar; name a folder with jars, or unset it"):
        _jars(tmp_path)
    (tmp_path / "a.jar").touch()
    assert _jars(tmp_path) == [f"file://{tmp_path.resolve()}/a.jar"]
