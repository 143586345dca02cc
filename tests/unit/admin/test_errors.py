"""Errors as Java's clients name and word them."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError, error_of_code, kafka_error, raise_for
from kcompat.protocol.errors import ErrorCode


def test_every_error_code_has_an_exception_and_a_message_of_java() -> None:
    for code in set(ErrorCode) - {ErrorCode.NONE}:
        error = error_of_code(code)
        assert error.code is code
        assert error.name
        assert str(error)
    assert error_of_code(ErrorCode.NOT_CONTROLLER).name == "NotControllerException"


def test_the_message_of_the_broker_replaces_javas() -> None:
    assert str(error_of_code(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'a' already exists.")) == (
        "Topic 'a' already exists."
    )


def test_an_unknown_code_is_an_unexpected_error() -> None:
    assert error_of_code(9999).name == "UnknownServerException"


def test_code_zero_raises_nothing() -> None:
    raise_for(0)
    with pytest.raises(JavaError, match=r"does not host this topic-partition"):
        raise_for(3)


def test_the_logged_text_names_the_causes() -> None:
    error = kafka_error("no client")
    error.__cause__ = error_of_code(7)
    assert error.logged() == (
        "org.apache.kafka.common.KafkaException: no client\n"
        "Caused by: org.apache.kafka.common.errors.TimeoutException: The request timed out."
    )


def test_a_cause_that_is_not_javas_has_no_class() -> None:
    error = kafka_error("no connection")
    error.__cause__ = ConnectionRefusedError("[Errno 111] Connection refused")
    assert error.logged() == (
        "org.apache.kafka.common.KafkaException: no connection\nCaused by: [Errno 111] Connection refused"
    )
