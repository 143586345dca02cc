"""Each way in which a client fails, with its line in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.notices import causes
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.failing_clients import (
    add_offsets_of_the_former,
    ask_for,
    ask_for_an_impossible_topic,
    ask_what_is_denied,
    batch,
    come_and_go,
    commit_of_the_former,
    damaged,
    distrust,
    end_as_the_former,
    exceed_a_quota,
    fall_silent,
    fetch_far,
    heartbeat_of_the_former,
    join_briefly,
    leave_a_transaction_open,
    log_in_where_none_is,
    log_in_wrongly,
    lose_a_fetch_session,
    outlive_a_session,
    produce_in_turn,
    produce_nowhere,
    produce_when_one_is_in_sync,
    produce_without_the_follower,
    produce_zstd_too_early,
    producing,
    send,
    send_plainly_after_the_handshake,
    shake_hands,
    versions,
    want_long_transactions,
)
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.notices.cause import Cause

FAILURES: Final[dict[str, tuple[str, Cause, str, Callable[[Any], None]]]] = {
    "TLS at a plain port": (
        "plain",
        causes.TLS_ON_PLAIN_PORT,
        r"127.0.0.1: connection closed: the client speaks TLS, and listener PLAINTEXT does not",
        shake_hands,
    ),
    "no TLS at a TLS port": (
        "encrypted",
        causes.PLAIN_ON_TLS_PORT,
        r"127.0.0.1: connection closed: the client does not speak TLS, and listener SSL does",
        lambda broker: send(broker, request_frame(ApiVersionsRequest(), 0)),
    ),
    "a certificate that the client does not trust": (
        "encrypted",
        causes.TLS_HANDSHAKE,
        r"127.0.0.1: connection closed: TLS handshake on listener SSL failed: .*",
        distrust,
    ),
    "HTTP": (
        "plain",
        causes.HTTP,
        r"127.0.0.1: connection closed: the client speaks HTTP, and listener PLAINTEXT .*",
        lambda broker: send(broker, b"GET / HTTP/1.1\r\n\r\n"),
    ),
    "a frame that is too large": (
        "plain",
        causes.FOREIGN_FRAME,
        r"127.0.0.1: connection closed: a frame of 2000000 bytes, .* at most 1000000 are allowed .*",
        lambda broker: send(broker, (2_000_000).to_bytes(4, "big")),
    ),
    "an unknown API": (
        "plain",
        causes.REFUSED_REQUEST,
        r"127.0.0.1: connection closed: API key 999 is not served",
        lambda broker: send(broker, versions(999, 0)),
    ),
    "an unknown version": (
        "plain",
        causes.REFUSED_REQUEST,
        r"127.0.0.2: connection closed: version 99 of METADATA is not served, but 0 to \d+",
        lambda broker: send(broker, versions(3, 99), "127.0.0.2"),
    ),
    "a wrong password": (
        "secured",
        causes.LOGIN_REFUSED,
        r"127.0.0.1: login refused: unknown user or wrong password",
        log_in_wrongly,
    ),
    "no login": (
        "secured",
        causes.LOGIN_BROKEN,
        r"127.0.0.1: connection closed: .* must set security.protocol to one with SASL",
        lambda broker: send(broker, request_frame(MetadataRequest(topics=[]), 1)),
    ),
    "a login where none is wanted": (
        "plain",
        causes.LOGIN_WHERE_NONE_IS,
        r"app-\d+ at 127.0.0.1: the client wants to log in by SASL, and listener PLAINTEXT has no logins: .*",
        log_in_where_none_is,
    ),
    "what an ACL does not allow": (
        "secured",
        causes.NOT_AUTHORIZED,
        r"app-\d+ at 127.0.0.1: Metadata refused: User:alice may not Describe Topic secrets",
        ask_what_is_denied,
    ),
    "a missing topic": (
        "plain",
        causes.TOPIC_MISSING,
        r"app-\d+ at 127.0.0.1: topic nowhere does not exist, .*auto.create.topics.enable=false.*",
        ask_for("nowhere", 3, create=True),
    ),
    "a topic that a client waits for": (
        "plain",
        causes.TOPIC_AWAITED,
        r"app-\d+ at 127.0.0.1: topic later does not exist; the client asks for missing topics again .*",
        ask_for("later", 5, create=False),
    ),
    "a missing partition": (
        "plain",
        causes.PARTITION_MISSING,
        r"app-\d+ at 127.0.0.1: produces to t-7, which does not exist",
        produce_nowhere,
    ),
    "a large batch": (
        "plain",
        causes.BATCH_TOO_LARGE,
        r"app-\d+ at 127.0.0.1: a batch for t-0 is refused: a batch of 3\d+ bytes .*max.message.bytes.*",
        producing(batch(3000)),
    ),
    "a damaged batch": (
        "plain",
        causes.BATCH_CORRUPT,
        r"app-\d+ at 127.0.0.1: a batch for t-0 is damaged: the batch does not match its CRC",
        producing(damaged(-1, 99)),
    ),
    "a timestamp of the future": (
        "plain",
        causes.BATCH_TIME,
        r"app-\d+ at 127.0.0.1: a batch for punctual-0 is refused for its timestamps: .*",
        producing(batch(timestamp=2**42), "punctual"),
    ),
    "a record without a key in a compacted topic": (
        "plain",
        causes.BATCH_INVALID,
        r"app-\d+ at 127.0.0.1: a batch for compacted-0 is refused: INVALID_RECORD: .*",
        producing(batch(), "compacted"),
    ),
    "an unknown format": (
        "plain",
        causes.BATCH_CORRUPT,
        r"app-\d+ at 127.0.0.1: a batch for t-0 is damaged: bytes that begin no record batch",
        producing(damaged(16, 9)),
    ),
    "acks that there are not": (
        "plain",
        causes.BATCH_INVALID,
        r"app-\d+ at 127.0.0.1: a batch for t-0 is refused: INVALID_REQUIRED_ACKS: .*",
        producing(batch(), acks=5),
    ),
    "a gap in the sequence": (
        "plain",
        causes.OUT_OF_ORDER,
        r"app-\d+ at 127.0.0.1: a batch of producer 7000 for t-0 is out of order: its sequence is 5, .* 0",
        lambda broker: produce_in_turn(
            broker,
            batch(producer_id=7000, producer_epoch=0, base_sequence=0),
            batch(producer_id=7000, producer_epoch=0, base_sequence=5),
        ),
    ),
    "a former producer": (
        "plain",
        causes.PRODUCER_FENCED,
        r"app-\d+ at 127.0.0.1: producer 7001 is fenced in t-0: its epoch 0 is over, .* epoch 1",
        lambda broker: produce_in_turn(
            broker,
            batch(producer_id=7001, producer_epoch=1, base_sequence=0),
            batch(producer_id=7001, producer_epoch=0, base_sequence=1),
        ),
    ),
    "a former producer of transactions": (
        "plain",
        causes.TRANSACTION_FENCED,
        r"app-\d+ at 127.0.0.1: EndTxn of transactional.id tx is refused: its epoch 0 is over, .*",
        end_as_the_former,
    ),
    "transactions that last too long": (
        "plain",
        causes.TRANSACTION_TIMEOUT,
        r"app-\d+ at 127.0.0.1: transaction.timeout.ms=1000000 of .* tx is refused: .* is 60000",
        want_long_transactions,
    ),
    "an offset that is not there": (
        "plain",
        causes.OFFSET_OUT_OF_RANGE,
        r"app-\d+ at 127.0.0.1: fetches t-0 from offset 1000000, and its log has offsets \d+ to \d+",
        fetch_far,
    ),
    "a session timeout out of bounds": (
        "plain",
        causes.JOIN_REFUSED,
        r"app-\d+ at 127.0.0.1: cannot join group g: INVALID_SESSION_TIMEOUT: .*",
        join_briefly,
    ),
    "two members with one instance id": (
        "plain",
        causes.INSTANCE_FENCED,
        r"app-\d+ at 127.0.0.1: member \S+ of group static is fenced: .* group.instance.id i",
        heartbeat_of_the_former,
    ),
    "a commit with the instance id of another member": (
        "plain",
        causes.INSTANCE_FENCED,
        r"app-\d+ at 127.0.0.1: member \S+ of group static-commit is fenced: .* group.instance.id i",
        commit_of_the_former,
    ),
    "offsets of a transaction with the instance id of another member": (
        "plain",
        causes.INSTANCE_FENCED,
        r"app-\d+ at 127.0.0.1: member \S+ of group static-tx is fenced: .* group.instance.id i",
        add_offsets_of_the_former,
    ),
    "a silent member": (
        "plain",
        causes.MEMBER_EXPIRED,
        r"group silent: member \S+ of app-\d+ at 127.0.0.1 is removed: no request for its session timeout .*",
        fall_silent,
    ),
    "a member that comes and goes": (
        "plain",
        causes.REBALANCES,
        r"group restless: the group rebalances again and again, last for this reason: .*member app-.*",
        come_and_go,
    ),
    "damaged TLS": (
        "encrypted",
        causes.TLS_DAMAGED,
        r"127.0.0.1: connection closed: damaged TLS: .*",
        send_plainly_after_the_handshake,
    ),
    "too many connections": (
        "plain",
        causes.TOO_MANY_CONNECTIONS,
        r"127.0.0.3: connection closed: too many connections of one address",
        lambda broker: send(broker, b"", "127.0.0.3"),
    ),
    "a session that has expired": (
        "expiring",
        causes.SESSION_EXPIRED,
        r"127.0.0.1: connection closed: the session of User:alice has expired, and the client has not .*",
        outlive_a_session,
    ),
    "a name that is none of a topic": (
        "expiring",
        causes.TOPIC_NOT_CREATED,
        r"app-\d+ at 127.0.0.1: topic a/b cannot be created: INVALID_TOPIC_EXCEPTION: .*",
        ask_for_an_impossible_topic,
    ),
    "a client over its quota": (
        "plain",
        causes.THROTTLED,
        r"app-\d+ at 127.0.0.1: throttled for \d{4,} ms at its Produce: over the quota of User:ANONYMOUS",
        exceed_a_quota,
    ),
    "a compression that is newer than the request": (
        "plain",
        causes.BATCH_FORMAT,
        r"app-\d+ at 127.0.0.1: a batch for t-0 is refused for its format: zstd needs produce version 7, .*",
        produce_zstd_too_early,
    ),
    "too few replicas in sync": (
        "pair",
        causes.TOO_FEW_IN_SYNC,
        r"app-\d+ at 127.0.0.1: a batch with acks=all for safe-0 is refused: 1 of its replicas are .*",
        produce_when_one_is_in_sync,
    ),
    "a follower that is cut off": (
        "pair",
        causes.NOT_REPLICATED,
        r"app-\d+ at 127.0.0.1: a batch with acks=all for t-0 was not on all 2 in-sync replicas in time .*",
        produce_without_the_follower,
    ),
    "a transaction that is left open": (
        "expiring",
        causes.TRANSACTION_TIMED_OUT,
        r"transactional.id left: the transaction of producer \d+ is aborted: .* transaction.timeout.ms=60000",
        leave_a_transaction_open,
    ),
    "a fetch session that is thrown out": (
        "expiring",
        causes.FETCH_SESSION_EVICTED,
        r"app-\d+ at 127.0.0.1: the fetch session of the client was thrown out .*: all 1 are in use .*",
        lose_a_fetch_session,
    ),
}
"""Failures of clients: the fixture with the broker, the cause, the line, and the client."""

ELSEWHERE: Final = {
    "CERTIFICATE": ("tests/wire/test_net_tls.py", "no rule of ssl.principal.mapping.rules applies to"),
    "SLOW": ("tests/wire/test_net_limits.py", "connection closed: unfinished frame"),
    "TOO_MANY_ANSWERS": ("tests/wire/test_net_sending.py", "connection closed: too many unsent answers"),
    "ADVERTISED_ELSEWHERE": ("tests/unit/node/test_reachability.py", "test_a_client_on_another_machine_is"),
    "SLOW_REQUEST": ("tests/unit/observe/test_request_log.py", "app at 127.0.0.1: Metadata v9 took "),
}
"""Causes whose lines other tests make appear: the file of the test, and words of it."""
