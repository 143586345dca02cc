"""`kcompat.Broker`: a broker inside this process, in a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.kraft import insist_on_one_node
from kcompat.embedded.addresses import Addresses
from kcompat.embedded.contents import Contents
from kcompat.embedded.disturbed import Coordinating, Disturbed, disturbable
from kcompat.embedded.requests import RecordsRequests
from kcompat.embedded.running import Embedded
from kcompat.embedded.settings import check_flag, check_timeout, read_development, read_settings
from kcompat.embedded.snapshots import Rewindable
from kcompat.embedded.timing import Timing
from kcompat.embedded.tracebacks import short_tracebacks
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from kcompat.config.broker import BrokerConfig
    from kcompat.embedded.addresses import Listener
    from kcompat.embedded.first_topics import Topics
    from kcompat.embedded.settings import Settings
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.control.port import ControlPort
    from kcompat.log.cleaner.cleaner import Compacted
    from kcompat.node.broker import BrokerNode
    from kcompat.security.acls import Acl


@short_tracebacks
class Broker(
    Embedded["BrokerNode"], Addresses, Contents, Disturbed, Coordinating, RecordsRequests, Rewindable
):
    """A broker on a free port, started by `with` or `start()`.

    Without `data_dir` each start stores in a temporary directory, removed at the stop. `config` takes Kafka's
    own keys, such as `{"num.partitions": 4}`; `port` 0 stands for any free port.

    with Broker() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)

    `tls`, `users` and `acls` secure the broker, alone or together. `tls=True` makes a certificate from a new
    certificate authority; `users` are passwords by user, for SASL; `acls` is a list of what `allow` and
    `deny` return, and every other access is denied.

    with Broker(tls=True, users={"alice": "secret"}, acls=[allow("alice", "all", topic="*")]) as broker:
            producer = Producer(broker.client_config("alice", library="confluent"))

    `topics` exist when it has started: a number of partitions by name, or settings.

    with Broker(topics={"orders": 3, "users": {"partitions": 1, "cleanup.policy": "compact"}}) as broker:
            ...

    With `record_requests` the broker records the last requests of clients, which `requests()` returns. With
    `clock="manual"` time passes as usual, and `advance` moves it forward. With `control_port` other programs
    control the broker over HTTP, at `control_url`.

    Invalid arguments raise UsageError at once, invalid config values ConfigError. The errors of `start` are
    documented there. All of these are in `kcompat.errors`.
    """

    def __init__(
        self,
        *,
        data_dir: str | PathLike[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        config: Settings | None = None,
        topics: Topics | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Sequence[Acl]] | None = None,
        record_requests: bool = False,
        clock: str = "real",
        control_port: int | None = None,
    ) -> None:
        super().__init__(
            "the broker",
            read_settings(data_dir, host, port, config),
            read_development(tls, users, acls),
            topics,
        )
        insist_on_one_node(self._config.given)
        check_flag("record_requests", record_requests)
        self._records_requests = record_requests or control_port is not None
        self._choose_control_port(control_port)
        self._timing = Timing(clock)

    async def _begin(self, config: BrokerConfig) -> BrokerNode:
        from kcompat.node.broker import BrokerNode  # late: a program may never start this broker

        environment = disturbable(self._development.prepared(self._stored(self._timing.environment())))
        node = BrokerNode(config, self._instrumented(environment))
        await node.start(self._topics)
        self._remember(node)
        return node

    def _serve_control(self, port: ControlPort, nodes: BrokerNode) -> None:
        assert self._recorder is not None
        port.start(nodes, self._recorder, self._timing.manual_time, self._snapshots)

    async def _end(self, nodes: BrokerNode) -> None:
        self._forget_snapshots()
        await nodes.stop()

    bootstrap_servers = Addresses.bootstrap_servers

    def _listeners(self) -> list[Mapping[str, Listener]]:
        return [self.listeners]

    def _running_nodes(self) -> list[BrokerNode]:
        return [self._running()[1]]

    def _brokers(self) -> tuple[LoopThread, Brokers]:
        from kcompat.instrumentation.brokers import Brokers

        thread, node = self._running()
        return thread, Brokers(lambda: [node])

    def compact(self, topic: str, timeout_s: float | None = None) -> list[Compacted]:
        """Compact a topic now, whatever its dirty ratio, and wait until that is done; return one result a
        partition.

        Raises:
            UsageError: there is no such topic.
            TimeoutError: the compaction takes longer than `timeout_s`; it continues.
        """
        check_timeout(timeout_s)
        thread, node = self._running()
        results = thread.call(node.compact(topic), timeout_s)
        if not results:
            raise UsageError(f"there is no topic {topic!r}: create it before you compact it")
        return results
