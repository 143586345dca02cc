"""The logs of a broker and its replicas: the first floor of `kcompat.node.parts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.context import Storage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.topic import topic_config
from kcompat.log.cleaner.cleaner import LogCleaner
from kcompat.log.manager import LogManager
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.moving.moves import Moves, moves_config
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import cleaner_config, log_config
from kcompat.replication.waiting.fetch_session import FetchSessions

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig, ConfigFeed
    from kcompat.log.config import LogConfig
    from kcompat.log.log import Log
    from kcompat.node.environment import Environment
    from kcompat.node.lifetime import Lifetime


def open_logs(
    config: BrokerConfig, environment: Environment, cluster_id: str, lifetime: Lifetime
) -> LogManager:
    """Lock the log directories and load the logs. Raises LogDirectoryError, StorageError."""
    logs = LogManager(
        config.log_dirs, environment.clock, environment.files, environment.start_worker, environment.random
    )
    logs.open(config.broker_id, cluster_id, default_log_config(config))
    lifetime.began(logs.close, logs.abandon)
    return logs


def default_log_config(config: BrokerConfig) -> LogConfig:
    """Return the configuration of logs until their topics' own settings come with their roles."""
    return log_config(topic_config(config, {}))


class StorageParts:
    """The log directories, the replicas in them, and the metadata image of this broker."""

    def __init__(
        self, config: ConfigFeed, environment: Environment, cluster_id: str, logs: LogManager
    ) -> None:
        """Build the parts. `logs` are open (see `open_logs`)."""
        current, clock, random = config.current, environment.clock, environment.random
        self.config = config
        self.environment = environment
        self.cluster_id = cluster_id
        self.metadata = MetadataCache(cluster_id)
        self.logs = logs
        self.replicas = ReplicaManager(
            current.broker_id,
            clock,
            self.metadata,
            max_lag_ms=current.replica_lag_time_max_ms,
            max_fetch_wait_ms=current.replica_fetch_wait_max_ms,
            session_timeout_ms=current.integer("zookeeper.session.timeout.ms"),
        )
        self.local = LocalBroker(config, self.metadata, self.logs, self.replicas)
        self.moves = moves = Moves(current.broker_id, self.logs, self.replicas, clock, moves_config(current))
        config.subscribe(lambda changed: moves.configure(moves_config(changed)))
        self.cleaner = LogCleaner(
            self.logs,
            clock,
            lambda: cleaner_config(config.current),
            self._stable_offset,
            environment.start_cleaning,
        )
        self.services = Storage(
            logs=self.logs,
            replicas=self.replicas,
            moves=moves,
            fetch_sessions=FetchSessions(current.max_incremental_fetch_session_cache_slots, random),
        )

    def _stable_offset(self, log: Log) -> int | None:
        partition = self.replicas.get(log.topic, log.partition)
        return None if partition is None or partition.log is not log else partition.last_stable_offset
