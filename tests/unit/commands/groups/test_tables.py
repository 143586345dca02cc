"""The tables of `kafka-consumer-groups`, with its columns."""

from __future__ import annotations

from kcompat.admin.connection import Node
from kcompat.commands.groups import tables
from kcompat.commands.groups.descriptions import GroupDescription, GroupListing, Member

NODE = Node(1, "localhost", 9092)
CLASSIC = Member("m-1", None, "client", "/127.0.0.1", [("t", 0), ("t", 1)], 3, [("t", 0)], upgraded=False)
MODERN = Member("m-2", "instance", "client", "/127.0.0.1", [], 3, [("u", 0)], upgraded=True)
GROUP = GroupDescription("orders", "Consumer", "Stable", "uniform", NODE, [CLASSIC, MODERN], 4, 3)


def test_list_shows_types_and_states() -> None:
    groups = [GroupListing("g", "Classic", "Empty")]
    assert tables.list_table(groups, types=True, states=True) == (
        f"{'GROUP':25} {'TYPE':20} {'STATE':20}\n{'g':25} {'Classic':20} {'Empty':20}\n"
    )


def test_offsets_have_lag_and_member() -> None:
    rows = [
        tables.OffsetRow("orders", "t", 0, 5, 1, 7, CLASSIC),
        tables.OffsetRow("orders", "a-topic-with-a-long-name", 1, None, None, None, None),
    ]
    plain = tables.offset_table(rows, verbose=False).splitlines()
    assert plain[0] == ""
    assert [line.split() for line in plain[2:]] == [
        ["orders", "t", "0", "5", "7", "2", "m-1", "/127.0.0.1", "client"],
        ["orders", "a-topic-with-a-long-name", "1", "-", "-", "-", "-", "-", "-"],
    ]
    assert plain[1].startswith(f"{'GROUP':15} {'TOPIC':24} {'PARTITION':10} {'CURRENT-OFFSET':15} ")
    verbose = tables.offset_table(rows, verbose=True).splitlines()
    assert verbose[2].split()[3:6] == ["1", "5", "7"]


def test_members_show_what_there_is() -> None:
    lines = tables.member_table(GROUP, verbose=True).splitlines()
    assert lines[1].split()[2] == "GROUP-INSTANCE-ID"
    assert lines[1].endswith(" UPGRADED")
    assert lines[2].split()[-5:] == ["3", "t:0,1", "3", "t:0", "false"]
    assert lines[3].split()[-5:] == ["3", "-", "3", "u:0", "true"]
    assert tables.member_table(None, verbose=False) == (
        f"\n{'GROUP':15} {'CONSUMER-ID':15} {'HOST':15} {'CLIENT-ID':15} {'#PARTITIONS':15} \n"
    )


def test_state_names_the_coordinator() -> None:
    assert tables.state_table(GROUP, verbose=True).splitlines()[2].split() == [
        "orders", "localhost:9092", "(1)", "uniform", "Stable", "4", "3", "2",
    ]  # fmt: skip


def test_resets_and_deletions_are_tables() -> None:
    assert tables.reset_table({"g": {("t", 0): 5}}) == (
        f"\n{'GROUP':15} {'TOPIC':15} {'PARTITION':10} NEW-OFFSET\n{'g':15} {'t':15} {'0':10} 5\n"
    )
    assert tables.reset_table({}) == "\n"
    assert tables.deletion_table({("t", 0): "Successful", ("s", None): "Error: x"}).splitlines()[2:] == [
        f"{'s':15} {'-':10} {'Error: x':15}",
        f"{'t':15} {'0':10} {'Successful':15}",
    ]
