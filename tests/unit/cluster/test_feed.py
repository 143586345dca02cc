"""How a broker learns of a new picture."""

from __future__ import annotations

from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.image import ClusterImage, TopicImage


def test_the_cache_tells_old_and_new() -> None:
    cache = MetadataCache("c")
    seen = []
    cache.subscribe(lambda old, new: seen.append((old, new)))
    first, second = cache.image, ClusterImage("c").with_topics([TopicImage("a", b"a" * 16, ())])
    cache.update(second)
    assert seen == [(first, second)]
    assert cache.image is second


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
