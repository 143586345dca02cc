"""The declarations of messages and error codes equal the fact tables in `tables/`, field by field."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.schema import OPEN_END, Wire, version_range
from support.messages import OF_KCOMPAT, message_classes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from msgspec import Struct

    Fact: TypeAlias = dict[str, Any]
    """An entry of a fact table: a message, a field, an API or an error code."""

TABLES = Path(__file__).parent / "tables"
ZERO = {"bool": False, "string": "", "bytes": b"", "records": b"", "uuid": bytes(16), "float64": 0.0}
"""Defaults that the tables leave out; a number's is 0."""

SERVED_BY_BROKERS_ON_ZOOKEEPER = (ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS)
"""The tables are of a Kafka that has no ZooKeeper any more: with it any broker may be the controller."""

SCHEMA = json.loads((TABLES / "messages.json").read_text())
ERRORS = json.loads((TABLES / "errors.json").read_text())["errors"]

CLASSES = {cls.__name__: cls for cls in message_classes()}


def snake(name: str) -> str:
    name = name.replace("KRaft", "Kraft").replace("2Pc", "_2pc")
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def span(text: str | None, inside: Iterable[int]) -> list[int]:
    return [version for version in inside if version in version_range(text)]


def default_of(cls: type[Struct], name: str) -> object:
    default = dict(zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True))[name]
    factory = getattr(default, "factory", None)
    return default if factory is None else factory()


NULL_IN_JSON = ("ClassicMemberMetadata",)
"""Structs whose default is the `null` of JSON in Kafka's schema, where elsewhere it is a text: Kafka's
generator passes over it, and what is not there is an empty struct."""


def expected_default(fact: Fact, element: type | None) -> object:
    if "d" in fact and fact["n"] not in NULL_IN_JSON:
        return fact["d"]
    if fact["t"].startswith("[]"):
        return []
    if element is not None:
        return element()
    return None if fact["t"] == "records" and "nv" in fact else ZERO.get(fact["t"], 0)


def compare_struct(cls: type[Struct], facts: list[Fact], inside: Iterable[int]) -> None:
    """All fields of one struct in the versions in which its parent has it."""
    hints = typing.get_type_hints(cls, include_extras=True)
    known = [snake(fact["n"]) for fact in facts]
    # A struct that a message uses in two places may have fields that only the other place has.
    here = [name for name in cls.__struct_fields__ if span(typing.get_args(hints[name])[1].versions, inside)]
    assert here == known + OF_KCOMPAT.get(cls.__name__, [])
    for fact in facts:
        compare_field(cls, fact, hints[snake(fact["n"])], inside)


def compare_field(cls: type[Struct], fact: Fact, hint: object, inside: Iterable[int]) -> None:
    python_type, wire = typing.get_args(hint)
    assert isinstance(wire, Wire)
    optional = isinstance(python_type, types.UnionType) and type(None) in typing.get_args(python_type)
    plain_type = typing.get_args(python_type)[0] if isinstance(python_type, types.UnionType) else python_type
    array = typing.get_origin(plain_type) is list
    element = typing.get_args(plain_type)[0] if array else plain_type
    name = snake(fact["n"])
    assert array == fact["t"].startswith("[]")
    assert optional == ("nv" in fact), name
    here = span(fact["v"], inside)
    assert span(wire.versions, inside) == here, name
    assert span(wire.nullable, here) == span(fact.get("nv"), inside), name
    assert wire.tag == fact.get("tag")
    assert span(fact.get("tv"), inside) == (here if wire.tag is not None else []), name
    assert wire.ignorable == bool(fact.get("ig")), name
    assert wire.flexible == (fact.get("fx") != "none"), name
    kind = fact["t"].removeprefix("[]")
    if "f" in fact:
        assert wire.kind == "struct"
        assert element.__name__ == kind
        compare_struct(element, fact["f"], here)
    else:
        assert wire.kind == kind, name
    assert default_of(cls, name) == expected_default(fact, element if "f" in fact else None), name


def test_all_messages_are_there() -> None:
    assert sorted(CLASSES) == sorted(fact["name"] for fact in SCHEMA["messages"])


@pytest.mark.parametrize("fact", SCHEMA["messages"], ids=lambda fact: fact["name"])
def test_message(fact: Fact) -> None:
    cls = CLASSES[fact["name"]]
    assert cls.versions == version_range(fact["versions"])
    assert list(cls.flexible) == span(fact["flexible"], cls.versions)
    assert cls.latest_stable == fact["latest_stable"]
    key = -1 if fact["key"] is None else fact["key"]
    is_record = fact["kind"].startswith("coordinator")
    assert (cls.api_key, cls.record_type) == ((-1, key) if is_record else (key, -1))
    compare_struct(cls, fact["fields"], cls.versions)


@pytest.mark.parametrize("fact", SCHEMA["apis"], ids=lambda fact: fact["api"])
def test_api_facts(fact: Fact) -> None:
    facts = API_FACTS[fact["key"]]
    assert (facts.key, facts.key.name) == (fact["key"], fact["api"])
    assert facts.versions == version_range(fact["versions"])
    assert facts.latest_stable == fact["latest_stable"]
    on_zookeeper = {"zkBroker"} if facts.key in SERVED_BY_BROKERS_ON_ZOOKEEPER else set()
    assert facts.listeners == set(fact["listeners"]) | on_zookeeper
    assert (facts.cluster_action, facts.forwardable) == (fact["cluster_action"], fact["forwardable"])
    for first, last, header in fact["request_header"]:
        assert {facts.request_header_version(v) for v in range(first, last + 1)} == {header}
    for first, last, header in fact["response_header"]:
        assert {facts.response_header_version(v) for v in range(first, last + 1)} == {header}
    assert [facts.is_flexible(v) for v in facts.versions] == [
        v in version_range(fact["flexible"]) for v in facts.versions
    ]


def test_error_codes() -> None:
    codes = {code.name: (code.value, code.retriable, code.refresh_metadata) for code in ErrorCode}
    assert codes == {
        fact["name"]: (fact["code"], fact["retriable"], fact["refresh_metadata"]) for fact in ERRORS
    }


@pytest.mark.parametrize("key", list(ApiKey), ids=lambda key: key.name)
def test_facts_and_classes_agree(key: ApiKey) -> None:
    facts = API_FACTS[key]
    for cls in (request_class(key), response_class(key)):
        assert cls.api_key == key
        assert cls.versions == facts.versions
        assert cls.latest_stable == facts.latest_stable
        assert [v in cls.flexible for v in cls.versions] == [facts.is_flexible(v) for v in cls.versions]
        assert cls.__module__ == f"kcompat.protocol.messages.{key.name.lower()}"


def test_unknown_key_has_no_class() -> None:
    with pytest.raises(KeyError):
        request_class(95)


def test_import_of_one_api_does_not_import_others() -> None:
    code = (
        "import sys, kcompat.protocol.api_keys as a; a.request_class(18);"
        "print([m for m in sys.modules if m.startswith('kcompat.protocol.messages.')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['kcompat.protocol.messages.api_versions']"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3+", range(3, OPEN_END)),
        ("2-5", range(2, 6)),
        ("4", range(4, 5)),
        (None, range(0)),
    ],
)
def test_version_range(text: str | None, expected: range) -> None:
    assert version_range(text) == expected
