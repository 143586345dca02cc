"""The broker keys that the broker itself uses, as typed attributes named like the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, overload

from kcompat.config.java_text import split_list

if TYPE_CHECKING:
    from kcompat.config.types import Value

T = TypeVar("T", int, bool)


class _Key(Generic[T]):
    """Attribute that gives the value of one key of its configuration."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, config: None, owner: type[BrokerKeys]) -> _Key[T]: ...
    @overload
    def __get__(self, config: BrokerKeys, owner: type[BrokerKeys]) -> T: ...
    def __get__(self, config: BrokerKeys | None, owner: type[BrokerKeys]) -> _Key[T] | T:
        return self if config is None else config.get(self.name)  # type: ignore[return-value]


def _int(name: str) -> _Key[int]:
    return _Key(name)


def _bool(name: str) -> _Key[bool]:
    return _Key(name)


class BrokerKeys:
    """Typed access to keys by attribute and by name; times in ms, sizes in bytes, as Kafka's keys define
    them.

    A test checks every attribute's type against the table.
    """

    __slots__ = ()

    def get(self, name: str) -> Value:
        """Return the typed value of a key of the table; None if it is unset and has no default.

        Raises:
            KeyError: the table has no such key, which is a fault of the caller.
        """
        raise NotImplementedError

    def integer(self, name: str) -> int:
        """Return the value of an INT, SHORT or LONG key that has one."""
        value = self.get(name)
        assert isinstance(value, int), name
        return value

    def boolean(self, name: str) -> bool:
        """Return the value of a BOOLEAN key."""
        value = self.get(name)
        assert isinstance(value, bool), name
        return value

    def double(self, name: str) -> float:
        """Return the value of a DOUBLE key."""
        value = self.get(name)
        assert isinstance(value, float), name
        return value

    def string(self, name: str) -> str:
        """Return the value of a STRING, CLASS or PASSWORD key; empty if it is unset."""
        value = self.get(name)
        assert value is None or isinstance(value, str), name
        return value or ""

    def strings(self, name: str) -> list[str]:
        """Return the value of a LIST key; empty if it is unset."""
        value = self.get(name)
        assert value is None or isinstance(value, list), name
        return value or []

    @property
    def log_dirs(self) -> list[str]:
        """The data directories, in the order given."""
        text = self.string("log.dirs") or self.string("log.dir")
        return [directory for directory in split_list(text) if directory]

    connections_max_idle_ms = _int("connections.max.idle.ms")
    max_connections = _int("max.connections")
    max_connections_per_ip = _int("max.connections.per.ip")
    socket_listen_backlog_size = _int("socket.listen.backlog.size")
    socket_receive_buffer_bytes = _int("socket.receive.buffer.bytes")
    socket_send_buffer_bytes = _int("socket.send.buffer.bytes")
    socket_request_max_bytes = _int("socket.request.max.bytes")
    fetch_max_bytes = _int("fetch.max.bytes")
    max_incremental_fetch_session_cache_slots = _int("max.incremental.fetch.session.cache.slots")
    max_request_partition_size_limit = _int("max.request.partition.size.limit")

    auto_create_topics_enable = _bool("auto.create.topics.enable")
    delete_topic_enable = _bool("delete.topic.enable")
    default_replication_factor = _int("default.replication.factor")
    num_partitions = _int("num.partitions")
    min_insync_replicas = _int("min.insync.replicas")

    log_retention_check_interval_ms = _int("log.retention.check.interval.ms")
    log_initial_task_delay_ms = _int("log.initial.task.delay.ms")
    log_flush_scheduler_interval_ms = _int("log.flush.scheduler.interval.ms")
    log_flush_offset_checkpoint_interval_ms = _int("log.flush.offset.checkpoint.interval.ms")
    log_flush_start_offset_checkpoint_interval_ms = _int("log.flush.start.offset.checkpoint.interval.ms")
    replica_fetch_wait_max_ms = _int("replica.fetch.wait.max.ms")
    replica_lag_time_max_ms = _int("replica.lag.time.max.ms")
    replica_high_watermark_checkpoint_interval_ms = _int("replica.high.watermark.checkpoint.interval.ms")
    producer_id_expiration_ms = _int("producer.id.expiration.ms")
    producer_id_expiration_check_interval_ms = _int("producer.id.expiration.check.interval.ms")

    offset_metadata_max_bytes = _int("offset.metadata.max.bytes")
    offsets_topic_num_partitions = _int("offsets.topic.num.partitions")
    offsets_topic_segment_bytes = _int("offsets.topic.segment.bytes")
