from __future__ import annotations

from kcompat.protocol.errors import ErrorCode


def test_codes_are_dense() -> None:
    assert [int(code) for code in sorted(ErrorCode)] == list(range(-1, 137))


def test_remedies() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.refresh_metadata
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.REQUEST_TIMED_OUT.retriable
    assert not ErrorCode.REQUEST_TIMED_OUT.refresh_metadata
    assert not ErrorCode.NONE.retriable


def test_a_code_is_its_number_on_the_wire() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # type: ignore[call-arg]
    assert [code for code in ErrorCode if code == 0] == [ErrorCode.NONE]
    assert not ErrorCode.NONE


def test_each_has_a_message_of_its_own() -> None:
    messages = [code.message for code in ErrorCode]
    assert len(set(messages)) == len(messages)
    assert all(message.endswith(".") for message in messages)
