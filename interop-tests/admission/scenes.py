"""What each persona asks of each API: about an open thing, a secret one, and some that are not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from differential.catalogue import common_versions
from differential.play import Play, batch
from differential.scenarios.groups import ASSIGNMENT, joining, ready
from differential.scenarios.topics import few_configs, wanted
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.protocol.messages.list_groups import ListGroupsResponse

Scene: TypeAlias = Callable[["Asker", int], None]

METADATA = ApiKey.METADATA
OPEN_TOPIC, SECRET_TOPIC = "open-shared", "secret-shared"
SHARED = (OPEN_TOPIC, SECRET_TOPIC)
WRITTEN = ("open-written", "secret-written")
"""Topics that grow: their offsets are not compared."""
UNKNOWN = ("open-unknown", "secret-unknown")
OPEN_GROUP, SECRET_GROUP = "open-group", "secret-group"
GROUPS = (OPEN_GROUP, SECRET_GROUP)
DENIED = {error for error in ErrorCode if error.name.endswith("AUTHORIZATION_FAILED")}
TIMEOUT_MS = 10_000


class Asker(Play):
    """One persona's stage: what is asked on "main" is asked by it, all else by one who may do everything."""

    def name(self, suffix: str = "open") -> str:
        """A name that begins with `suffix`: the rules look at how a name begins."""
        return f"{suffix}-{self.prefix}"

    def topics(self, **configs: str) -> tuple[str, str]:
        """A new open topic and a new secret one."""
        return self.topic("open", **configs), self.topic("secret", **configs)


@dataclass(frozen=True)
class Played:
    """A scene, its API and the versions it is played at."""

    name: str
    scene: Scene
    key: ApiKey
    versions: tuple[int, ...]


SCENES: list[Played] = []


def scene(key: ApiKey, *versions: int) -> Callable[[Scene], Scene]:
    """Play the decorated scene at these versions of `key`; at the first and the last if none is named."""

    def register(play: Scene) -> Scene:
        common = common_versions(key)
        chosen = versions or tuple(sorted({common[0], common[-1]}))
        assert set(chosen) <= set(common), (play.__name__, chosen, common)
        SCENES.append(Played(play.__name__, play, key, chosen))
        return play

    return register


def share(play: Asker) -> None:
    """Make what the scenes have in common: topics with a record, groups with offsets."""
    ready(play)
    for topic in (*SHARED, *WRITTEN):
        wish = {"name": topic, "num_partitions": 1, "replication_factor": 1}
        play.do(ApiKey.CREATE_TOPICS, 4, topics=[wish], timeout_ms=TIMEOUT_MS)
        play.await_topic(topic)
        play.append(topic, b"one")
    for group in GROUPS:
        commit = {"group_id": group, "topics": [offsets_of(topic) for topic in SHARED]}
        answer = play.do(
            ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, retention_time_ms=-1, **commit
        )
        assert all(row.partitions[0].error_code == 0 for row in answer.topics), answer


def offsets_of(topic: str) -> dict[str, Any]:
    """A topic of a commit."""
    row = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "note"}
    return {"name": topic, "partitions": [row]}


# Records


def producing(*topics: str, data: bytes | None = None) -> list[dict[str, Any]]:
    """Topics of a Produce, one batch each."""
    rows = [{"index": 0, "records": batch(b"v") if data is None else data}]
    return [{"name": topic, "partition_data": rows} for topic in topics]


@scene(ApiKey.PRODUCE, 3, 8, 9, 11, 12, 13)
def produce(play: Asker, version: int) -> None:
    asked = producing(*WRITTEN, *UNKNOWN)
    play.call(ApiKey.PRODUCE, version, trim=_no_offsets, acks=1, timeout_ms=TIMEOUT_MS, topic_data=asked)
    play.call(ApiKey.PRODUCE, version, acks=7, timeout_ms=TIMEOUT_MS, topic_data=asked)
    if version < 13:
        internal = producing("__consumer_offsets")
        play.call(ApiKey.PRODUCE, version, acks=1, timeout_ms=TIMEOUT_MS, topic_data=internal)
    for name in WRITTEN:
        play.send(ApiKey.PRODUCE, version, acks=0, timeout_ms=TIMEOUT_MS, topic_data=producing(name))
        play.call(ApiKey.API_VERSIONS, 0, trim=_no_rows)


def _no_offsets(answer: Any) -> None:
    for topic in answer.responses:
        for row in topic.partition_responses:
            row.base_offset = min(row.base_offset, 0)


def _no_rows(answer: Any) -> None:
    answer.api_keys = []


@scene(ApiKey.PRODUCE, 3, 9, 11)
def produce_in_a_transaction(play: Asker, version: int) -> None:
    data = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)

    def only_denials(answer: Any) -> None:
        """Transactions are not served yet: what became of the batches that were let in is not compared."""
        for topic in answer.responses:
            for row in topic.partition_responses:
                if row.error_code not in DENIED:
                    row.error_code, row.error_message, row.log_start_offset = 0, None, -1

    for transactional_id in ("open-id", "secret-id", None):
        asked = producing(*WRITTEN, data=data)
        play.call(
            ApiKey.PRODUCE, version, trim=only_denials, transactional_id=transactional_id,
            acks=-1, timeout_ms=TIMEOUT_MS, topic_data=asked,
        )  # fmt: skip


def fetching(*topics: str) -> list[dict[str, Any]]:
    """Topics of a Fetch."""
    rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]
    return [{"topic": topic, "partitions": rows} for topic in topics]


@scene(ApiKey.FETCH, 0, 4, 7, 11, 12, 13, 15, 17)
def fetch(play: Asker, version: int) -> None:
    common = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    play.call(ApiKey.FETCH, version, topics=fetching(*SHARED, *UNKNOWN), replica_id=-1, **common)
    common["session_epoch"] = 0
    opened = play.call(ApiKey.FETCH, version, topics=fetching(*SHARED), replica_id=-1, **common)
    if opened is not None and opened.session_id:
        again = {**common, "session_id": opened.session_id, "session_epoch": 1}
        play.call(ApiKey.FETCH, version, topics=[], replica_id=-1, **again)


@scene(ApiKey.FETCH, 4, 11, 13, 17)
def fetch_as_a_replica(play: Asker, version: int) -> None:
    common = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    state = {"replica_id": 5, "replica_epoch": -1}

    def without_hints(answer: Any) -> None:
        """Where the leader is belongs to clusters of more than one broker."""
        answer.node_endpoints = []
        for topic in answer.responses:
            for row in topic.partitions:
                row.current_leader = type(row.current_leader)()
                row.aborted_transactions = None

    asked = {"topics": fetching(*SHARED, *UNKNOWN), "replica_id": 5, "replica_state": state}
    play.call(ApiKey.FETCH, version, trim=without_hints, **asked, **common)


@scene(ApiKey.LIST_OFFSETS, 0, 1, 6, 9)
def list_offsets(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0, "timestamp": -1, "max_num_offsets": 1}]
    topics = [{"name": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.LIST_OFFSETS, version, replica_id=-1, topics=topics)
    topics = [{"name": topic, "partitions": rows * 2} for topic in SHARED]
    play.call(ApiKey.LIST_OFFSETS, version, replica_id=-1, topics=topics)


@scene(ApiKey.OFFSET_FOR_LEADER_EPOCH)
def offset_for_leader_epoch(play: Asker, version: int) -> None:
    rows = [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}]
    topics = [{"topic": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, replica_id=-1, topics=topics)


@scene(ApiKey.DELETE_RECORDS)
def delete_records(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0, "offset": 0}]
    topics = [{"name": topic, "partitions": rows} for topic in (*WRITTEN, *UNKNOWN)]
    play.call(ApiKey.DELETE_RECORDS, version, topics=topics, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.DESCRIBE_PRODUCERS)
def describe_producers(play: Asker, version: int) -> None:
    topics = [{"name": topic, "partition_indexes": [0, 9]} for topic in (*SHARED, *UNKNOWN, "a b")]
    play.call(ApiKey.DESCRIBE_PRODUCERS, version, topics=topics)


@scene(ApiKey.INIT_PRODUCER_ID)
def init_producer_id(play: Asker, version: int) -> None:
    play.until(
        lambda: not play.do(ApiKey.INIT_PRODUCER_ID, 0, transactional_id=None).error_code,
        "producer ids are there",
    )
    play.call(ApiKey.INIT_PRODUCER_ID, version, transactional_id=None, transaction_timeout_ms=1000)
    play.call(
        ApiKey.INIT_PRODUCER_ID, version, transactional_id=None, producer_id=5, transaction_timeout_ms=1000
    )

    def only_denials(answer: Any) -> None:
        """Transactions are not served yet."""
        if answer.error_code not in DENIED:
            answer.error_code, answer.producer_id, answer.producer_epoch = 0, -1, -1

    for transactional_id in ("open-id", "secret-id", ""):
        for producer_id in (-1, 5):
            play.call(
                ApiKey.INIT_PRODUCER_ID, version, trim=only_denials, transactional_id=transactional_id,
                transaction_timeout_ms=1000, producer_id=producer_id,
            )  # fmt: skip


# Topics and the cluster


@scene(ApiKey.METADATA, 0, 1, 4, 8, 10, 12, 13)
def metadata(play: Asker, version: int) -> None:
    operations = {
        "include_topic_authorized_operations": True,
        "include_cluster_authorized_operations": 8 <= version <= 10,
    }
    for topic in SHARED:
        play.topic_id(topic)
    topics = [{"name": topic} for topic in (*SHARED, *UNKNOWN, "secret/illegal")]
    if version >= 4:
        play.call(METADATA, version, topics=topics, allow_auto_topic_creation=False)
        if version >= 8:
            play.call(METADATA, version, topics=topics, allow_auto_topic_creation=False, **operations)
    else:
        play.call(METADATA, version, topics=topics[:2])

    def shared(answer: Any) -> None:
        answer.topics = [row for row in answer.topics if row.name in SHARED]

    everything = None if version >= 1 else []
    play.call(METADATA, version, trim=shared, topics=everything, **operations)
    if version >= 12:
        for topic in (*SHARED, UNKNOWN[1]):
            play.call(
                METADATA, version, topics=[{"name": None, "topic_id": play.topic_id(topic)}], **operations
            )


@scene(ApiKey.METADATA, 1, 9, 12)
def metadata_that_creates(play: Asker, version: int) -> None:
    def whether_denied(answer: Any) -> None:
        """What is created is there at once or a little later: that is not compared."""
        for row in answer.topics:
            if row.error_code not in DENIED:
                row.error_code, row.topic_id, row.partitions = 0, bytes(16), []

    names = [play.name("open"), play.name("secret"), "a b"]
    asked = [{"name": name} for name in names]
    play.call(METADATA, version, trim=whether_denied, topics=asked, allow_auto_topic_creation=True)


@scene(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions(play: Asker, version: int) -> None:
    def shared(answer: Any) -> None:
        answer.topics = [row for row in answer.topics if row.name in SHARED]

    for topic in SHARED:
        play.topic_id(topic)
    topics = [{"name": topic} for topic in (*SHARED, *UNKNOWN, "secret/illegal")]
    key = ApiKey.DESCRIBE_TOPIC_PARTITIONS
    play.call(key, version, topics=topics, response_partition_limit=2000)
    play.call(key, version, trim=shared, topics=[], response_partition_limit=2000)
    for name in (UNKNOWN[1], SECRET_TOPIC):
        cursor = {"topic_name": name, "partition_index": 0}
        play.call(key, version, topics=topics, response_partition_limit=1, cursor=cursor)
    play.call(key, version, topics=topics[:2], response_partition_limit=1)
    cursor = {"topic_name": "neither", "partition_index": 0}
    play.call(key, version, topics=topics, response_partition_limit=1, cursor=cursor)


@scene(ApiKey.DESCRIBE_CLUSTER)
def describe_cluster(play: Asker, version: int) -> None:
    play.call(ApiKey.DESCRIBE_CLUSTER, version, include_cluster_authorized_operations=True)


@scene(ApiKey.DESCRIBE_LOG_DIRS, 0, 1, 3, 4)
def describe_log_dirs(play: Asker, version: int) -> None:
    topics = [{"topic": topic, "partitions": [0]} for topic in SHARED]
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=topics)


@scene(ApiKey.CREATE_TOPICS, 0, 4, 5, 7)
def create_topics(play: Asker, version: int) -> None:
    names = [play.name("open"), play.name("secret")]
    create = ApiKey.CREATE_TOPICS
    late = [wanted(play.name("secret"))]
    play.call(create, version, trim=few_configs, topics=late, timeout_ms=0)
    twice = wanted(play.name("secret-twice"))
    asked = [*(wanted(name) for name in names), wanted(SECRET_TOPIC), twice, twice, wanted("a b")]
    asked.append(wanted("__cluster_metadata"))
    play.call(create, version, trim=few_configs, topics=asked, timeout_ms=TIMEOUT_MS)


@scene(ApiKey.DELETE_TOPICS, 1, 5, 6)
def delete_topics(play: Asker, version: int) -> None:
    names = play.topics()
    asked = [*names, *UNKNOWN, SECRET_TOPIC + "x", SECRET_TOPIC + "x"]
    delete = ApiKey.DELETE_TOPICS
    rows = [{"name": name} for name in asked]
    late = {"topics": rows[1:2], "topic_names": names[1:], "timeout_ms": 0}
    play.call(delete, version, **late)
    if version < 6:
        play.call(delete, version, topic_names=asked, timeout_ms=TIMEOUT_MS)
        return
    ids = [{"name": None, "topic_id": play.topic_id(name)} for name in (*names, UNKNOWN[1])]
    both = [{"name": name, "topic_id": play.topic_id(name)} for name in names]
    play.call(delete, version, topics=both, timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=[rows[0], ids[0], rows[1], ids[1]], timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=ids, timeout_ms=TIMEOUT_MS)
    play.call(delete, version, topics=[{"name": name} for name in UNKNOWN], timeout_ms=TIMEOUT_MS)


@scene(ApiKey.CREATE_PARTITIONS)
def create_partitions(play: Asker, version: int) -> None:
    names = play.topics()
    key = ApiKey.CREATE_PARTITIONS
    asked = [{"name": name, "count": 2, "assignments": None} for name in (*names, *UNKNOWN)]
    twice = [{"name": "secret-twice", "count": 2, "assignments": None}] * 2
    play.call(key, version, topics=asked[1:2], timeout_ms=0)
    play.call(key, version, topics=asked + twice, timeout_ms=TIMEOUT_MS)


# Configurations

ALTERED = (
    (2, SECRET_TOPIC),
    (2, OPEN_TOPIC),
    (2, UNKNOWN[1]),
    (2, "a b"),
    (4, "1"),
    (4, ""),
    (8, "1"),
    (77, "x"),
)
CONFIGURED = (*ALTERED, (16, "m"))


def few_settings(answer: Any) -> None:
    """Leave one setting of each resource: which there are is compared elsewhere."""
    for row in answer.results:
        row.configs = [each for each in row.configs or () if each.name in ("retention.ms", "log.dirs")]
        for each in row.configs:
            if each.name == "log.dirs":
                each.value = ""
                each.synonyms = []
            each.is_default = False


@scene(ApiKey.DESCRIBE_CONFIGS, 1, 4)
def describe_configs(play: Asker, version: int) -> None:
    for kind, name in CONFIGURED:
        asked = [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]
        play.call(ApiKey.DESCRIBE_CONFIGS, version, trim=few_settings, resources=asked)


@scene(ApiKey.ALTER_CONFIGS)
def alter_configs(play: Asker, version: int) -> None:
    for kind, name in ALTERED:
        configs = [{"name": "retention.ms", "value": "-1"}] if kind == 2 else []
        asked = [{"resource_type": kind, "resource_name": name, "configs": configs}]
        play.call(ApiKey.ALTER_CONFIGS, version, resources=asked, validate_only=True)
    asked = [{"resource_type": 2, "resource_name": name, "configs": []} for name in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.ALTER_CONFIGS, version, resources=asked, validate_only=True)


@scene(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def incremental_alter_configs(play: Asker, version: int) -> None:
    key = ApiKey.INCREMENTAL_ALTER_CONFIGS
    for kind, name in ALTERED:
        configs = [{"name": "retention.ms", "config_operation": 0, "value": "-1"}] if kind == 2 else []
        asked = [{"resource_type": kind, "resource_name": name, "configs": configs}]
        play.call(key, version, resources=asked, validate_only=True)
    configs = [{"name": "bad", "config_operation": 0, "value": "-1"}]
    asked = [{"resource_type": 2, "resource_name": name, "configs": configs} for name in (*SHARED, *UNKNOWN)]
    play.call(key, version, resources=asked, validate_only=True)


@scene(ApiKey.LIST_CONFIG_RESOURCES)
def list_config_resources(play: Asker, version: int) -> None:
    def shared(answer: Any) -> None:
        rows = answer.config_resources
        answer.config_resources = [
            row for row in rows if row.resource_type != 2 or row.resource_name in SHARED
        ]

    for types in ([], [2], [4], [99]):
        play.call(ApiKey.LIST_CONFIG_RESOURCES, version, trim=shared, resource_types=types)


# Access rules


def only_denials_of_rules(rows: str) -> Callable[[Any], None]:
    """The reference has an authorizer that keeps rules, ours does not: only denials are compared."""

    def trim(answer: Any) -> None:
        for row in [answer] if rows == "resources" else getattr(answer, rows):
            if row.error_code not in DENIED:
                row.error_code, row.error_message = 0, None
        if rows == "resources":
            answer.resources = []

    return trim


@scene(ApiKey.DESCRIBE_ACLS, 1, 3)
def describe_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    trim = only_denials_of_rules("resources")
    play.call(ApiKey.DESCRIBE_ACLS, version, trim=trim, resource_name_filter="none", **asked)


@scene(ApiKey.CREATE_ACLS, 1, 3)
def create_acls(play: Asker, version: int) -> None:
    rule = {"resource_type": 2, "resource_name": play.name("t"), "resource_pattern_type": 3}
    rule |= {"principal": "User:somebody", "host": "*", "operation": 3, "permission_type": 3}
    trim = only_denials_of_rules("results")
    play.call(ApiKey.CREATE_ACLS, version, trim=trim, creations=[rule, rule])


@scene(ApiKey.DELETE_ACLS, 1, 3)
def delete_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    filters = [{"resource_name_filter": "none", **asked}] * 2
    trim = only_denials_of_rules("filter_results")
    play.call(ApiKey.DELETE_ACLS, version, trim=trim, filters=filters)


# Groups


@scene(ApiKey.FIND_COORDINATOR, 0, 1, 3, 4, 6)
def find_coordinator(play: Asker, version: int) -> None:
    def only_denials(answer: Any) -> None:
        """Transactions and share groups are not served yet."""
        for row in (answer, *answer.coordinators):
            if row.error_code not in DENIED:
                row.error_code, row.error_message, row.node_id, row.host, row.port = 0, "", -1, "", -1

    key = ApiKey.FIND_COORDINATOR
    for group in GROUPS:
        play.call(key, version, key=group, coordinator_keys=[group])
    if version >= 1:
        for kind in (0, 1, 2, 9):
            for name in ("open-id", "secret-id", "secret-id:AAAAAAAAAAAAAAAAAAAAAA:0"):
                trim = None if kind == 9 else only_denials
                play.call(key, version, trim=trim, key=name, coordinator_keys=[name], key_type=kind)
    if version >= 4:
        play.call(key, version, coordinator_keys=list(GROUPS))


def _any_member(answer: Any) -> None:
    """Member ids are made up."""
    for field in ("member_id", "leader"):
        if getattr(answer, field):
            setattr(answer, field, "<member>")
    answer.members = []


@scene(ApiKey.JOIN_GROUP, 0, 3, 5, 9)
def join_group(play: Asker, version: int) -> None:
    for name in (play.name("open"), play.name("secret"), ""):
        play.call(ApiKey.JOIN_GROUP, version, trim=_any_member, **joining(name))


@scene(ApiKey.SYNC_GROUP)
def sync_group(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        fields = {"group_id": group, "generation_id": 1, "member_id": "m"}
        rows = [{"member_id": "m", "assignment": ASSIGNMENT}]
        play.call(ApiKey.SYNC_GROUP, version, assignments=rows, **fields)
        typed = {"protocol_type": "consumer", "protocol_name": "range"}
        play.call(ApiKey.SYNC_GROUP, version, assignments=rows, **fields, **typed)


@scene(ApiKey.HEARTBEAT)
def heartbeat(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        play.call(ApiKey.HEARTBEAT, version, group_id=group, generation_id=1, member_id="m")


@scene(ApiKey.LEAVE_GROUP, 0, 3, 5)
def leave_group(play: Asker, version: int) -> None:
    for group in (*GROUPS, "secret-none", ""):
        play.call(ApiKey.LEAVE_GROUP, version, group_id=group, member_id="m", members=[{"member_id": "m"}])


@scene(ApiKey.DESCRIBE_GROUPS, 0, 3, 5)
def describe_groups(play: Asker, version: int) -> None:
    groups = [*GROUPS, "open-none", "secret-none"]
    play.call(ApiKey.DESCRIBE_GROUPS, version, groups=groups)
    if version >= 3:
        play.call(ApiKey.DESCRIBE_GROUPS, version, groups=groups, include_authorized_operations=True)


@scene(ApiKey.LIST_GROUPS, 0, 4, 5)
def list_groups(play: Asker, version: int) -> None:
    def shared(answer: ListGroupsResponse) -> None:
        answer.groups = [row for row in answer.groups if row.group_id in GROUPS]

    play.call(ApiKey.LIST_GROUPS, version, trim=shared)


@scene(ApiKey.DELETE_GROUPS)
def delete_groups(play: Asker, version: int) -> None:
    names = [play.name("open"), play.name("secret")]
    for name in names:
        commit = {"group_id": name, "topics": [offsets_of(OPEN_TOPIC)], "retention_time_ms": -1}
        play.do(ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, **commit)
    asked = [*names, "open-none", "secret-none", "secret-none"]
    play.call(ApiKey.DELETE_GROUPS, version, groups_names=asked)


@scene(ApiKey.OFFSET_COMMIT, 1, 5, 9, 10)
def offset_commit(play: Asker, version: int) -> None:
    topics = [offsets_of(topic) for topic in (*SHARED, *UNKNOWN)]
    common = {"generation_id_or_member_epoch": -1, "retention_time_ms": -1}
    for group in (play.name("open"), play.name("secret"), ""):
        play.call(ApiKey.OFFSET_COMMIT, version, group_id=group, topics=topics, **common)
    play.call(ApiKey.OFFSET_COMMIT, version, group_id=play.name("secret"), topics=[], **common)


@scene(ApiKey.OFFSET_FETCH, 1, 2, 5, 7, 8, 9, 10)
def offset_fetch(play: Asker, version: int) -> None:
    rows = [{"name": topic, "partition_indexes": [0, 3]} for topic in (*SHARED, *UNKNOWN)]
    for group in (*GROUPS, "secret-none"):
        for topics in (rows, None) if version >= 2 else (rows,):
            asked = [{"group_id": group, "topics": topics}]
            play.call(ApiKey.OFFSET_FETCH, version, group_id=group, topics=topics, groups=asked)
    if version >= 8:
        asked = [{"group_id": group, "topics": rows} for group in GROUPS]
        play.call(ApiKey.OFFSET_FETCH, version, groups=asked)


@scene(ApiKey.OFFSET_DELETE)
def offset_delete(play: Asker, version: int) -> None:
    rows = [{"partition_index": 0}, {"partition_index": 9}]
    topics = [{"name": topic, "partitions": rows} for topic in (*SHARED, *UNKNOWN)]
    for group in (play.name("open"), play.name("secret")):
        commit = {"group_id": group, "topics": [offsets_of(topic) for topic in SHARED]}
        play.do(ApiKey.OFFSET_COMMIT, 2, generation_id_or_member_epoch=-1, retention_time_ms=-1, **commit)
        play.call(ApiKey.OFFSET_DELETE, version, group_id=group, topics=topics)
    for group in ("open-none", "secret-none", ""):
        play.call(ApiKey.OFFSET_DELETE, version, group_id=group, topics=topics)


@scene(ApiKey.API_VERSIONS)
def api_versions(play: Asker, version: int) -> None:
    def one_api(answer: Any) -> None:
        answer.api_keys = [row for row in answer.api_keys if row.api_key == ApiKey.HEARTBEAT]
        for name in ("supported_features", "finalized_features"):
            setattr(answer, name, [])
        answer.finalized_features_epoch = -1

    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    play.call(ApiKey.API_VERSIONS, version, trim=one_api, **software)
