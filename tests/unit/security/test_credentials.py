"""SCRAM credentials in the text that Kafka stores."""

from __future__ import annotations

import pytest

from kcompat.security.credentials import ScramCredential

TEXT = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)


def test_a_credential_is_read_and_written_as_kafka_does() -> None:
    assert ScramCredential.parse(TEXT) == CREDENTIAL
    assert CREDENTIAL.format() == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt=c2FsdA==",
        f"{TEXT},password=secret",
        TEXT.replace("4096", "many"),
        TEXT.replace("c3RvcmVk", "c3Rvc*Vk"),
        TEXT.replace("c2FsdA==", "c2FsdA"),
    ],
)
def test_another_text_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="SCRAM credential") as refusal:
        ScramCredential.parse(text)
    assert "c2VydmVy" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert "secret" not in str(refusal.value)


def test_a_credential_does_not_show_its_keys() -> None:
    assert repr(CREDENTIAL) == str([CREDENTIAL])[1:-1] == "ScramCredential(iterations=4096)"
