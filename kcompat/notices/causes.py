"""The reasons why clients fail, each with its log line. `docs/how-to/troubleshoot.md` says what to do for
each.

A line begins with the client, or with the group for reasons about groups.
"""

from __future__ import annotations

from typing import Final

from kcompat import logger_names as names
from kcompat.notices.cause import Cause

_MINUTE_MS: Final = 60_000

# Connections

TLS_ON_PLAIN_PORT: Final = Cause(
    names.SELECTOR, "connection closed: the client speaks TLS, and listener {listener} does not"
)
PLAIN_ON_TLS_PORT: Final = Cause(
    names.SELECTOR, "connection closed: the client does not speak TLS, and listener {listener} does"
)
HTTP: Final = Cause(
    names.SELECTOR,
    "connection closed: the client speaks HTTP, and listener {listener} speaks Kafka's protocol",
)
FOREIGN_FRAME: Final = Cause(
    names.SELECTOR,
    "connection closed: a frame of {length} bytes, which is none of Kafka's: at most {limit} are allowed "
    "(socket.request.max.bytes)",
)
TLS_HANDSHAKE: Final = Cause(
    names.SELECTOR, "connection closed: TLS handshake on listener {listener} failed: {reason}"
)
TLS_DAMAGED: Final = Cause(names.SELECTOR, "connection closed: damaged TLS: {reason}")
CERTIFICATE: Final = Cause(names.SELECTOR, "connection closed: {reason}")
SLOW: Final = Cause(names.SELECTOR, "connection closed: {reason}")
TOO_MANY_CONNECTIONS: Final = Cause(names.CONNECTION_QUOTAS, "connection closed: {reason}")
TOO_MANY_ANSWERS: Final = Cause(names.SELECTOR, "connection closed: too many unsent answers")
ADVERTISED_ELSEWHERE: Final = Cause(
    names.SERVER,
    "the client connected to listener {listener} from another machine, and is told to go on at {told}, which "
    "is its own machine: set advertised.listeners to an address that it reaches",
)

# Logins

LOGIN_REFUSED: Final = Cause(names.SASL, "login refused: {reason}")
LOGIN_BROKEN: Final = Cause(names.SASL, "connection closed: {reason}")
SESSION_EXPIRED: Final = Cause(
    names.SELECTOR,
    "connection closed: the session of {principal} has expired, and the client has not logged in again "
    "(connections.max.reauth.ms)",
)
LOGIN_WHERE_NONE_IS: Final = Cause(
    names.SASL,
    "the client wants to log in by SASL, and listener {listener} has no logins: set its security.protocol to "
    "one without SASL",
)

# Requests

REFUSED_REQUEST: Final = Cause(names.KAFKA_APIS, "connection closed: {reason}")
NOT_AUTHORIZED: Final = Cause(
    names.KAFKA_APIS, "{request} refused: {principal} may not {operation} {resource}"
)
TOPIC_MISSING: Final = Cause(
    names.KAFKA_APIS,
    "topic {topic} does not exist, and the broker creates no topics by itself "
    "(auto.create.topics.enable=false)",
)
TOPIC_AWAITED: Final = Cause(
    names.KAFKA_APIS,
    "topic {topic} does not exist; the client asks for missing topics again and again, and not to have them "
    "created",
    after=5,
    window_ms=_MINUTE_MS,
)
TOPIC_NOT_CREATED: Final = Cause(names.KAFKA_APIS, "topic {topic} cannot be created: {error}: {reason}")
THROTTLED: Final = Cause(
    names.CLIENT_QUOTAS, "throttled for {throttle_ms} ms at its {request}: over the quota of {principal}"
)

SLOW_REQUEST: Final = Cause(
    names.REQUESTS,
    "{request} v{version} took {total} ms: {queue} behind other requests, {local} in the handler, {remote} "
    "waiting for replicas, brokers or members, {send} to send; the client is throttled for {throttle} ms",
)

# Produce

BATCH_TOO_LARGE: Final = Cause(names.REPLICA_MANAGER, "a batch for {partition} is refused: {reason}")
BATCH_CORRUPT: Final = Cause(names.REPLICA_MANAGER, "a batch for {partition} is damaged: {reason}")
BATCH_TIME: Final = Cause(
    names.REPLICA_MANAGER, "a batch for {partition} is refused for its timestamps: {reason}"
)
BATCH_FORMAT: Final = Cause(
    names.REPLICA_MANAGER, "a batch for {partition} is refused for its format: {reason}"
)
BATCH_INVALID: Final = Cause(names.REPLICA_MANAGER, "a batch for {partition} is refused: {error}: {reason}")
PARTITION_MISSING: Final = Cause(names.KAFKA_APIS, "produces to {partition}, which does not exist", after=3)
TOO_FEW_IN_SYNC: Final = Cause(
    names.REPLICA_MANAGER,
    "a batch with acks=all for {partition} is refused: {isr} of its replicas are in sync, fewer than "
    "min.insync.replicas",
)
NOT_REPLICATED: Final = Cause(
    names.REPLICA_MANAGER,
    "a batch with acks=all for {partition} was not on all {isr} in-sync replicas in time (request.timeout.ms "
    "of the producer)",
)
OUT_OF_ORDER: Final = Cause(
    names.PRODUCER_STATES,
    "a batch of producer {producer_id} for {partition} is out of order: its sequence is {sequence}, and the "
    "partition's last one is {last}",
)
PRODUCER_FENCED: Final = Cause(
    names.PRODUCER_STATES,
    "producer {producer_id} is fenced in {partition}: its epoch {epoch} is over, as another producer with "
    "the same transactional.id has begun epoch {current}",
)
TRANSACTION_FENCED: Final = Cause(
    names.TRANSACTION_COORDINATOR,
    "{request} of transactional.id {name} is refused: its epoch {epoch} is over, as another producer has "
    "begun with the same transactional.id or the transaction has timed out",
)
TRANSACTION_TIMEOUT: Final = Cause(
    names.TRANSACTION_COORDINATOR,
    "transaction.timeout.ms={timeout_ms} of transactional.id {name} is refused: "
    "transaction.max.timeout.ms is {limit}",
)
TRANSACTION_TIMED_OUT: Final = Cause(
    names.TRANSACTION_COORDINATOR,
    "the transaction of producer {producer_id} is aborted: it was open for {open_ms} ms, longer than its "
    "transaction.timeout.ms={timeout_ms}",
)

# Fetch

FETCH_SESSION_EVICTED: Final = Cause(
    names.FETCH_SESSIONS,
    "the fetch session of the client was thrown out for another client's: all {slots} are in use "
    "(max.incremental.fetch.session.cache.slots)",
)
OFFSET_OUT_OF_RANGE: Final = Cause(
    names.REPLICA_MANAGER,
    "fetches {partition} from offset {offset}, and its log has offsets {start} to {end}",
)

# Groups

MEMBER_EXPIRED: Final = Cause(
    names.GROUP_COORDINATOR,
    "member {member} of {client} is removed: {reason}",
)
REBALANCES: Final = Cause(
    names.GROUP_COORDINATOR,
    "the group rebalances again and again, last for this reason: {reason}",
    after=8,
    window_ms=_MINUTE_MS,
)
INSTANCE_FENCED: Final = Cause(
    names.GROUP_COORDINATOR,
    "member {member} of group {group} is fenced: another member has joined with its group.instance.id "
    "{instance}",
)
JOIN_REFUSED: Final = Cause(names.GROUP_COORDINATOR, "cannot join group {group}: {error}: {reason}")

CAUSES: Final = {name: value for name, value in globals().items() if isinstance(value, Cause)}
"""All causes, by name."""
