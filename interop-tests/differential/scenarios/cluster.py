"""ApiVersions, Metadata, the cluster and its log directories, and frames that are no good request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from differential.catalogue import common_versions, release_of, scenario
from differential.members import ready
from differential.play import NOBODY, request_bytes
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

API_VERSIONS, METADATA = ApiKey.API_VERSIONS, ApiKey.METADATA
DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_TOPIC_PARTITIONS


def without_brokers_apis(answer: Any) -> None:
    """Which APIs there are is no scenario's business: it keeps one that both serve alike."""
    answer.api_keys = [row for row in answer.api_keys if row.api_key == ApiKey.HEARTBEAT]


@scenario(API_VERSIONS)
def api_versions(play: Play, version: int) -> None:
    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    play.call(API_VERSIONS, version, trim=without_brokers_apis, **software)


@scenario(API_VERSIONS, since=3)
def api_versions_with_bad_software_names(play: Play, version: int) -> None:
    for name in ("", " ", "a b", "-a", "a.", "é", "a" * 200):
        software = {"client_software_name": name, "client_software_version": "1.0"}
        play.call(API_VERSIONS, version, trim=without_brokers_apis, **software)
    software = {"client_software_name": "raw", "client_software_version": "!"}
    play.call(API_VERSIONS, version, trim=without_brokers_apis, **software)


@scenario(API_VERSIONS)
def api_versions_twice_on_a_connection(play: Play, version: int) -> None:
    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    play.call(API_VERSIONS, version, trim=without_brokers_apis, **software)
    play.call(API_VERSIONS, version, trim=without_brokers_apis, **software)


@scenario(METADATA)
def metadata_of_one_topic(play: Play, version: int) -> None:
    name = play.topic(partitions=3)
    play.call(METADATA, version, topics=[{"name": name}])


@scenario(METADATA)
def metadata_of_a_topic_named_twice(play: Play, version: int) -> None:
    name = play.topic()
    play.call(METADATA, version, topics=[{"name": name}, {"name": name}])


@scenario(METADATA)
def metadata_of_no_topic(play: Play, version: int) -> None:
    play.topic("present")
    play.call(METADATA, version, topics=[], trim=lambda answer: keep_own(play, answer))


@scenario(METADATA, since=1)
def metadata_of_all_topics(play: Play, version: int) -> None:
    play.topic_id(play.topic("a"))
    play.topic_id(play.topic("b", partitions=2))
    play.call(METADATA, version, topics=None, trim=lambda answer: keep_own(play, answer))


def keep_own(play: Play, answer: Any) -> None:
    """Leave out the topics of other scenarios."""
    answer.topics = [topic for topic in answer.topics if play.is_own(topic.name)]


@scenario(METADATA)
def metadata_of_an_unknown_topic_left_alone(play: Play, version: int) -> None:
    if version < 4:
        play.call(METADATA, version, topics=[{"name": "no such/topic"}])
        return
    asked = {"topics": [{"name": play.name("absent")}], "allow_auto_topic_creation": False}
    play.call(METADATA, version, **asked)
    play.call(METADATA, version, include_topic_authorized_operations=True, **asked)


@scenario(METADATA)
def metadata_creates_a_topic(play: Play, version: int) -> None:
    asked = {"topics": [{"name": play.name("made")}], "allow_auto_topic_creation": True}
    play.call(METADATA, version, **asked)
    play.until(lambda: not play.do(METADATA, 4, **asked).topics[0].error_code, "the topic is there")
    play.call(METADATA, version, **asked)


@scenario(METADATA)
def metadata_of_illegal_names(play: Play, version: int) -> None:
    for name in ("", ".", "..", "a" * 249, "a" * 250, "a b", "é", "a/b"):
        asked = {"topics": [{"name": name}], "allow_auto_topic_creation": len(name) != 249}
        if version >= 4 or len(name) != 249:
            play.call(METADATA, version, **asked)


@scenario(METADATA, since=4)
def metadata_creates_only_what_may_be(play: Play, version: int) -> None:
    known = play.topic("known")
    names = [known, "not legal", play.name("new")]
    play.call(
        METADATA,
        version,
        topics=[{"name": name} for name in names],
        allow_auto_topic_creation=False,
    )


@scenario(METADATA, since=8)
def metadata_with_authorized_operations(play: Play, version: int) -> None:
    name = play.topic()
    play.call(
        METADATA,
        version,
        topics=[{"name": name}],
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )


@scenario(METADATA, since=10)
def metadata_by_id(play: Play, version: int) -> None:
    topic_id = play.topic_id(play.topic("a"))
    other = play.topic("b")
    play.call(METADATA, version, topics=[{"topic_id": topic_id, "name": None}])
    play.call(METADATA, version, topics=[{"topic_id": topic_id, "name": other}])
    play.call(METADATA, version, topics=[{"topic_id": topic_id, "name": None}, {"name": other}])
    play.call(METADATA, version, topics=[{"topic_id": NOBODY, "name": None}])
    play.call(METADATA, version, topics=[{"name": None}])
    play.call(METADATA, version, topics=[{"name": None}, {"name": other}])


@scenario(METADATA)
def metadata_of_an_internal_topic(play: Play, version: int) -> None:
    ready(play)

    def first_partition(answer: Any) -> None:
        answer.topics[0].partitions = [row for row in answer.topics[0].partitions if row.partition_index == 0]

    play.call(METADATA, version, topics=[{"name": "__consumer_offsets"}], trim=first_partition)


@scenario(DESCRIBE_CLUSTER)
def describe_cluster(play: Play, version: int) -> None:
    play.call(DESCRIBE_CLUSTER, version)
    play.call(DESCRIBE_CLUSTER, version, include_cluster_authorized_operations=True)


@scenario(DESCRIBE_CLUSTER, since=1)
def describe_cluster_of_controllers(play: Play, version: int) -> None:
    for endpoint_type in (2, 3, 0):
        play.call(DESCRIBE_CLUSTER, version, endpoint_type=endpoint_type)


@scenario(DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions(play: Play, version: int) -> None:
    names = [play.topic("a", partitions=2), play.topic("b")]
    topics = [{"name": name} for name in names]
    play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics, response_partition_limit=2000)
    play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics[::-1], response_partition_limit=2000)
    play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics[:1] * 2, response_partition_limit=2000)


@scenario(DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions_by_pages(play: Play, version: int) -> None:
    names = [play.topic("a", partitions=3), play.topic("b", partitions=2)]
    topics = [{"name": name} for name in names]
    for limit in (1, 2, 3, 4, 5):
        play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics, response_partition_limit=limit)
    for cursor in (
        {"topic_name": names[0], "partition_index": 2},
        {"topic_name": names[0], "partition_index": 3},
        {"topic_name": names[1], "partition_index": 1},
        {"topic_name": names[1] + "x", "partition_index": 0},
        {"topic_name": play.name("aa"), "partition_index": 0},
        {"topic_name": names[0], "partition_index": -1},
    ):
        play.call(
            DESCRIBE_TOPIC_PARTITIONS, version, topics=topics, response_partition_limit=2, cursor=cursor
        )


@scenario(DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions_of_unknown_topics(play: Play, version: int) -> None:
    known = play.topic("known")
    for names in ([play.name("absent")], ["no good"], [""], [known, play.name("absent"), "a/b"]):
        topics = [{"name": name} for name in names]
        play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics, response_partition_limit=10)


@scenario(DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions_with_odd_limits(play: Play, version: int) -> None:
    known = play.topic("known")
    for limit in (0, -1):
        topics = [{"name": known}]
        play.call(DESCRIBE_TOPIC_PARTITIONS, version, topics=topics, response_partition_limit=limit)


@scenario(ApiKey.DESCRIBE_LOG_DIRS)
def describe_log_dirs(play: Play, version: int) -> None:
    name = play.topic(partitions=2)
    play.append(name, b"one", b"two")
    asked = [{"topic": name, "partitions": [0, 1]}]
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=asked)
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=[{"topic": name, "partitions": [1, 9]}])
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=[{"topic": play.name("no"), "partitions": [0]}])
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=[])

    def own(answer: Any) -> None:
        for row in answer.results:
            row.topics = [topic for topic in row.topics if topic.name == name]
            for topic in row.topics:
                topic.partitions.sort(key=lambda partition: partition.partition_index)

    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=None, trim=own)


@scenario(ApiKey.LIST_CONFIG_RESOURCES)
def config_resources(play: Play, version: int) -> None:
    play.topic()

    def own(answer: Any) -> None:
        rows = answer.config_resources
        topics = [row for row in rows if row.resource_type == 2 and play.is_own(row.resource_name)]
        answer.config_resources = topics + [row for row in rows if row.resource_type != 2]

    for types in ([], [2], [4, 8], [16], [32], [1], [99]):
        play.call(ApiKey.LIST_CONFIG_RESOURCES, version, trim=own, resource_types=types)


# The quorum that keeps the metadata

QUORUM = ApiKey.DESCRIBE_QUORUM
METADATA_TOPIC = "__cluster_metadata"


def quorum_topic(name: str, *partitions: int) -> dict[str, Any]:
    """A topic of DescribeQuorum."""
    return {"topic_name": name, "partitions": [{"partition_index": index} for index in partitions]}


def without_offsets(answer: Any) -> None:
    """Leave of offsets and epochs whether they are above 0, and of listeners how many there are."""
    for row in answer.topics[0].partitions:
        row.leader_epoch = row.leader_epoch > 0
        row.high_watermark = row.high_watermark > 0
        for replica in row.current_voters:
            replica.log_end_offset = replica.log_end_offset > 0
    for node in answer.nodes:
        for listener in node.listeners:
            listener.name, listener.host, listener.port = "<name>", "<host>", "<port>"


@scenario(QUORUM)
def describe_quorum(play: Play, version: int) -> None:
    play.call(QUORUM, version, topics=[quorum_topic(METADATA_TOPIC, 0)], trim=without_offsets)
    play.call(QUORUM, version, topics=[])
    play.call(QUORUM, version, topics=[quorum_topic(METADATA_TOPIC)])
    for partitions in ((1,), (0, 1), (0, 0)):
        play.call(QUORUM, version, topics=[quorum_topic(METADATA_TOPIC, *partitions)])
    play.call(QUORUM, version, topics=[quorum_topic("other", 0)])
    for others in (quorum_topic("other", 0, 1), quorum_topic("other")):
        play.call(QUORUM, version, topics=[quorum_topic(METADATA_TOPIC, 0), others])


# Frames that are no good request of any one API


def header(key: int, version: int, client_id: bytes = b"\x00\x03raw") -> bytes:
    """A request header before the tags of flexible versions."""
    return key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + b"\0\0\0\7" + client_id


@scenario(API_VERSIONS, until=0)
def api_versions_of_an_unknown_version(play: Play, version: int) -> None:
    for unknown in (9, 32767, -1):
        play.send_frame(header(ApiKey.API_VERSIONS, unknown) + b"\0")
        play.reply("ApiVersions", size=6)
        play.call(API_VERSIONS, 0, trim=without_brokers_apis)


@scenario(METADATA, until=0)
def unsupported_versions_and_keys(play: Play, version: int) -> None:
    for key, bad in ((METADATA, 99), (METADATA, -1), (ApiKey.OFFSET_DELETE, 1), (999, 0), (-1, 0), (52, 0)):
        play.send_frame(header(key & 0xFFFF, bad) + bytes(20))
        play.reply(f"{key} {bad}")
    play.call(METADATA, 1, topics=[])


@scenario(METADATA, until=0)
def frames_without_a_request(play: Play, version: int) -> None:
    for body in (b"", b"\0", b"\0\3", b"\0\3\0\1", header(METADATA, 1)[:8], header(METADATA, 1)):
        play.send_frame(body)
        play.reply(body.hex())


@scenario(METADATA)
def metadata_cut_short_or_longer(play: Play, version: int) -> None:
    name = play.topic()
    whole = request_bytes(METADATA, version, topics=[{"name": name}])
    play.send_frame(whole + b"tail")
    play.receive(METADATA, version)
    cut = 12
    while cut < len(whole):
        play.send_frame(whole[:cut])
        play.reply(f"cut at {cut}")
        cut += 3


@scenario(METADATA, until=3)
def metadata_array_lengths(play: Play, version: int) -> None:
    for count in (-2, 1_000_000, 0x7FFFFFFF):
        play.send_frame(header(METADATA, version) + count.to_bytes(4, "big", signed=True))
        play.reply(f"count {count}", size=4)


@scenario(METADATA, since=4)
def strings_that_are_no_utf8(play: Play, version: int) -> None:
    if version < 9:
        row = b"\0\0\0\1\0\3\xff\xfea"
        play.send_frame(header(METADATA, version, b"\0\2\xff\xfe") + row + b"\0\0\0")
        play.receive(METADATA, version)
    else:
        play.call(METADATA, version, topics=[])


@scenario(METADATA)
def client_ids(play: Play, version: int) -> None:
    if version >= 9:
        play.call(METADATA, version, topics=[])
        return
    for client_id in (b"\xff\xff", b"\0\0", b"\x03\xe8" + b"c" * 1000, b"\xff\xfe", b"\0\2\xff\xfe"):
        topics = b"\0\0\0\1" + b"\0\3a b"
        play.send_frame(header(METADATA, version, client_id) + topics + b"\0\0\0")
        play.reply(client_id[:6].hex(), size=4)


@scenario(API_VERSIONS, until=0)
def requests_sent_at_once_are_answered_in_order(play: Play, version: int) -> None:
    name = play.topic()
    for _ in range(3):
        play.send(METADATA, 1, topics=[{"name": name}])
        play.send(API_VERSIONS, 0)
        play.send(ApiKey.LIST_OFFSETS, 1, topics=[])
    for _ in range(3):
        play.receive(METADATA, 1)
        play.receive(API_VERSIONS, 0, trim=without_brokers_apis)
        play.receive(ApiKey.LIST_OFFSETS, 1)


@scenario(ApiKey.HEARTBEAT)
def common_versions_answer_something(play: Play, version: int) -> None:
    """Every API at every common version, with an empty request: the connection survives or not, alike."""
    ready(play)
    if version > 0:
        play.call(ApiKey.HEARTBEAT, version, group_id=play.name("g"), member_id="m", generation_id=1)
        return
    for key in (ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.DELETE_RECORDS,
                ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS,
                ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS,
                ApiKey.CREATE_PARTITIONS, ApiKey.DESCRIBE_PRODUCERS):  # fmt: skip
        for each in common_versions(key):
            if release_of(key, each) == release_of(ApiKey.HEARTBEAT, version):
                play.call(key, each)
