from __future__ import annotations

from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage

ID_A, ID_B = b"a" * 16, b"b" * 16
PARTITION = PartitionInfo(1, 0, (1,), (1,))


def image_of(*topics: TopicImage) -> ClusterImage:
    return ClusterImage("c").with_topics(topics)


def test_topics_are_found_by_name_and_id() -> None:
    a = TopicImage("a", ID_A, {0: PARTITION})
    image = image_of(a)
    assert image.topics["a"] is a
    assert image.topic_by_id(ID_A) is a
    assert image.topic_by_id(ID_B) is None
    assert image.partition("a", 0) is PARTITION
    assert image.partition("a", 1) is None
    assert image.partition("a", -1) is None
    assert image.partition("b", 0) is None
    image.check_invariants()


def test_a_change_shares_what_it_does_not_touch_and_leaves_the_old_picture() -> None:
    a, b = TopicImage("a", ID_A, {0: PARTITION}), TopicImage("b", ID_B, {0: PARTITION})
    old = image_of(a).with_configs({("topics", "a"): {"k": "v"}})
    new = old.with_topics([b])
    assert list(old.topics) == ["a"]
    assert new.topics["a"] is a
    assert new.entity_configs is old.entity_configs


def test_a_removed_topic_takes_its_configs_and_its_id_along() -> None:
    image = image_of(TopicImage("a", ID_A, {}), TopicImage("b", ID_B, {}))
    image = image.with_configs({("topics", "a"): {"k": "v"}, ("brokers", "1"): {"k": "w"}})
    image = image.with_topics((), removed=["a"])
    assert list(image.topics) == ["b"]
    assert image.topic_by_id(ID_A) is None
    assert image.configs("topics", "a") == {}
    assert image.configs("brokers", "1") == {"k": "w"}
    image.check_invariants()


def test_internal_topics_and_replication_factor() -> None:
    assert TopicImage("__consumer_offsets", ID_A, {}).is_internal
    assert TopicImage("__transaction_state", ID_A, {}).is_internal
    assert not TopicImage("__mine", ID_A, {}).is_internal
    assert TopicImage("t", ID_A, {0: PartitionInfo(1, 0, (1,), (1, 2))}).replication_factor == 2
    assert TopicImage("t", ID_A, {}).replication_factor == 0


def test_topics_without_an_id_are_found_by_name_alone() -> None:
    image = image_of(TopicImage("a", bytes(16), {}), TopicImage("b", bytes(16), {}))
    assert image.topic_by_id(bytes(16)) is None
    image.check_invariants()
    image = image.with_topics((), removed=["a"])
    assert list(image.topics) == ["b"]
