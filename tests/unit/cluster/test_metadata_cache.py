"""How a broker learns of a new picture."""

from __future__ import annotations

from kcompat.cluster.control_requests import UpdateConfigs, UpdatedPartition, UpdateMetadata
from kcompat.cluster.image import (
    LEADER_DURING_DELETION,
    BrokerInfo,
    ClusterImage,
    PartitionInfo,
    TopicImage,
)
from kcompat.cluster.metadata_cache import MetadataCache, merged

ID_A, ID_B = b"a" * 16, b"b" * 16
PARTITION = PartitionInfo(1, 0, (1,), (1,))


def image_of(*topics: TopicImage) -> ClusterImage:
    return ClusterImage("c").with_topics(topics)


def test_the_cache_tells_old_and_new() -> None:
    cache = MetadataCache("c")
    seen = []
    cache.subscribe(lambda old, new: seen.append((old, new)))
    first, second = cache.image, ClusterImage("c").with_topics([TopicImage("a", b"a" * 16, {})])
    cache.update(second)
    assert seen == [(first, second)]
    assert cache.image is second


def test_a_broker_shows_itself_until_the_controller_says_who_is_there() -> None:
    cache = MetadataCache("c")
    me, other = BrokerInfo(1, "r", {}), BrokerInfo(2, None, {})
    cache.begin_with(me)
    assert cache.image == ClusterImage("c", brokers={1: me})
    assert not cache.image.is_from_controller
    cache.apply(UpdateMetadata(2, 7, {2: other}))
    assert cache.image == ClusterImage("c", controller_id=2, brokers={2: other})
    assert cache.image.is_from_controller


def test_brokers_are_presumed_dead_until_an_update_says_otherwise() -> None:
    cache = MetadataCache("c")
    one, two = BrokerInfo(1, None, {}), BrokerInfo(2, None, {})
    cache.apply(UpdateMetadata(1, 7, {1: one}, presumed_dead={2: two}))
    assert (cache.image.brokers, cache.image.presumed_dead) == ({1: one}, {2: two})
    cache.apply(UpdateMetadata(1, 7, {1: one}))
    assert (cache.image.brokers, cache.image.presumed_dead) == ({1: one}, {})


def test_a_listener_that_raises_stops_nobody() -> None:
    cache = MetadataCache("c")
    seen = []

    def broken(_old: ClusterImage, _new: ClusterImage) -> None:
        raise ZeroDivisionError

    cache.subscribe(broken)
    cache.subscribe(lambda _, new: seen.append(new))
    picture = ClusterImage("c", controller_id=1)
    cache.update(picture)
    assert seen == [picture]


def shown(topic: str, index: int, leader: int = 1, topic_id: bytes = ID_A) -> UpdatedPartition:
    return UpdatedPartition(topic, topic_id, index, PartitionInfo(leader, 0, (1,), (1,)))


def test_configs_that_are_others_than_before_are_told_when_they_are_shown() -> None:
    cache = MetadataCache("c")
    seen = []
    cache.subscribe_to_configs(lambda changed: seen.append((changed, cache.image.configs("topics", "a"))))
    first = {("topics", "a"): {"retention.ms": "1"}, ("topics", "b"): {}}
    cache.apply(UpdateConfigs(first))
    cache.apply(UpdateConfigs({("topics", "a"): {"retention.ms": "2"}, ("topics", "b"): {}}))
    cache.apply(UpdateConfigs({("topics", "a"): {"retention.ms": "2"}}))
    assert seen == [
        (first, {"retention.ms": "1"}),
        ({("topics", "a"): {"retention.ms": "2"}}, {"retention.ms": "2"}),
    ]


def test_topics_that_are_deleted_are_told() -> None:
    cache = MetadataCache("c")
    deleted: list[frozenset[str]] = []
    cache.subscribe_to_deletions(deleted.append)

    def show(*partitions: UpdatedPartition) -> None:
        cache.apply(UpdateMetadata(1, 1, {}, partitions))

    show(shown("a", 0), shown("a", 1), shown("b", 0, topic_id=ID_B))
    show(shown("a", 0, LEADER_DURING_DELETION))
    assert deleted == []
    show(shown("a", 1, LEADER_DURING_DELETION), shown("unknown", 0, LEADER_DURING_DELETION))
    cache.forget(["b"])
    assert deleted == [frozenset("a"), frozenset("b")]
    assert not cache.image.topics


def test_partitions_become_known_one_by_one_in_any_order() -> None:
    image = merged(ClusterImage("c"), [shown("a", 2)])
    assert image.partition("a", 2) == PARTITION
    assert image.partition("a", 0) is None
    image.check_invariants()
    image = merged(image, [shown("b", 0, topic_id=ID_B), shown("a", 0)])
    assert list(image.topics["a"].partitions) == [0, 2]
    assert image.topic_by_id(ID_B) is image.topics["b"]
    image.check_invariants()


def test_partitions_that_are_not_named_stay_as_they_are() -> None:
    old = image_of(TopicImage("a", ID_A, {0: PARTITION, 1: PARTITION}), TopicImage("b", ID_B, {0: PARTITION}))
    new = merged(old, [shown("a", 1, leader=-1)])
    assert [part.leader for part in new.topics["a"].partitions.values()] == [1, -1]
    assert new.topics["b"] is old.topics["b"]
    assert old.topics["a"].partitions[1] is PARTITION


def test_partitions_that_are_being_deleted_go_and_the_topic_with_the_last() -> None:
    image = image_of(TopicImage("a", ID_A, {0: PARTITION, 1: PARTITION}))
    image = image.with_configs({("topics", "a"): {"k": "v"}})
    image = merged(image, [shown("a", 0, leader=-2)])
    assert list(image.topics["a"].partitions) == [1]
    image = merged(image, [shown("a", 1, leader=-2), shown("unknown", 0, leader=-2)])
    assert not image.topics
    assert not image.topic_names
    assert image.configs("topics", "a") == {}


def test_a_topic_that_goes_before_it_was_shown_takes_its_configs_with_it() -> None:
    image = image_of().with_configs({("topics", "a"): {"k": "v"}, ("topics", "b"): {"k": "v"}})
    image = merged(image, [shown("a", 0, leader=-2)])
    assert (image.configs("topics", "a"), image.configs("topics", "b")) == ({}, {"k": "v"})


def test_a_topic_made_anew_has_no_partition_of_the_one_before() -> None:
    image = image_of(TopicImage("a", ID_A, {0: PARTITION, 1: PARTITION}))
    image = merged(image, [shown("a", 0, topic_id=ID_B)])
    assert list(image.topics["a"].partitions) == [0]
    assert image.topic_by_id(ID_A) is None
    late = merged(image, [shown("a", 0, leader=-2, topic_id=ID_A)])
    assert late.topics["a"].partitions == {0: PARTITION}
    late.check_invariants()


def test_a_controller_that_knows_no_topic_ids_leaves_them_as_they_are() -> None:
    image = image_of(TopicImage("a", ID_A, {0: PARTITION}))
    image = merged(image, [shown("a", 1, topic_id=bytes(16))])
    assert image.topics["a"].topic_id == ID_A
    assert len(image.topics["a"].partitions) == 2
    nameless = merged(ClusterImage("c"), [shown("a", 0, topic_id=bytes(16)), shown("a", 1)])
    assert nameless.topics["a"].topic_id == ID_A
    nameless.check_invariants()
