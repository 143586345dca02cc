"""The text format: one head for each family, labels whose values need escapes."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from kcompat.observe.exposition import Family, Kind, labels, lines_of


def family(*samples: tuple[str, float]) -> Family[None]:
    return Family("seen_total", Kind.COUNTER, "Things.", ("what",), lambda _: samples)


def test_labels_with_any_text_are_read_back() -> None:
    strange = 'a "quoted" \\ back\nslash, {brace}=1'
    text = "".join(lines_of(family((labels(what=strange), 3), (labels(what="plain"), 4.5)), None))
    (read,) = text_string_to_metric_families(text)
    assert (read.name, read.documentation, read.type) == ("seen", "Things.", "counter")
    assert [(each.labels, each.value) for each in read.samples] == [
        ({"what": strange}, 3),
        ({"what": "plain"}, 4.5),
    ]
    assert text.count("# TYPE") == 1


def test_a_family_without_samples_has_no_lines() -> None:
    assert list(lines_of(family(), None)) == []


def test_no_labels_are_no_text() -> None:
    assert labels() == ""
