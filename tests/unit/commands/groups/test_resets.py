"""Plans of resets: times, durations, topics, limits and CSV files."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.groups import resets


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.500Z", 1500),
        ("1970-01-01T02:00:00.000+02:00", 0),
        ("1970-01-01T00:00:00.000-0130", 5_400_000),
        ("1970-13-01T00:00:00.000", 31_536_000_000),
    ],
)
def test_times_are_read_as_java_reads_them(text: str, time_ms: int) -> None:
    assert resets.parse_date_time(text) == time_ms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2020-01-01", "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"),
        ("2020-01-01T00:00:00", 'Unparseable date: "2020-01-01T00:00:00Z"'),
    ],
)
def test_other_texts_are_no_times(text: str, message: str) -> None:
    with pytest.raises(JavaError) as caught:
        resets.parse_date_time(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("-pt1.5s", -1500),
        ("PT-1.5S", -1500),
        ("P-1D", -86_400_000),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, duration_ms: float) -> None:
    assert resets.parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1H", "P1H", "nonsense"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(JavaError, match="Text cannot be parsed to a Duration"):
        resets.parse_duration(text)


def test_offsets_are_moved_within_what_there_is() -> None:
    warned: list[str] = []
    partitions = [("t", 0), ("t", 1), ("t", 2)]
    plan = resets.within(
        dict(zip(partitions, (300, -5, 4), strict=True)),
        dict.fromkeys(partitions, 0),
        dict.fromkeys(partitions, 6),
        warned.append,
    )
    assert plan == dict(zip(partitions, (6, 0, 4), strict=True))
    assert warned == [
        "New offset (300) is higher than latest offset for topic partition t-0. Value will be set to 6.",
        "New offset (-5) is lower than earliest offset for topic partition t-1. Value will be set to 0.",
    ]


def test_shift_needs_a_committed_offset() -> None:
    assert resets.shifted({("t", 0): 5}, [("t", 0)], -2) == {("t", 0): 3}
    with pytest.raises(ValueError, match="Cannot shift offset for partition t-1 since there is no current"):
        resets.shifted({("t", 0): 5}, [("t", 1)], 1)


def test_topics_have_partitions() -> None:
    assert resets.parse_topic("t") == ("t", [])
    assert resets.parse_topic("t:0,2") == ("t", [0, 2])
    with pytest.raises(ValueError, match="Invalid partition 'x' specified in topic arg 't:x''"):
        resets.parse_topic("t:x")
    with pytest.raises(ValueError, match="Invalid topic arg 't:', expected topic name and partitions"):
        resets.parse_topic("t:")


def test_plans_are_written_and_read_as_csv() -> None:
    plans = {"g": {("t,u", 0): 5, ("v", 1): 6}}
    for with_groups in (True, False):
        assert resets.read_plans(resets.write_plans(plans, with_groups=with_groups), ["g"]) == plans
    assert resets.write_plans(plans, with_groups=False) == '"t,u",0,5\nv,1,6\n'


def test_faulty_line_of_a_plan_is_named() -> None:
    with pytest.raises(JavaError, match="Line 2 of the reset plan is not TOPIC,PARTITION,OFFSET: t,x,1"):
        resets.read_plans("t,0,1\nt,x,1\n", ["g"])
