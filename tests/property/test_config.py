"""Whatever clients and operators write, configuration answers with a value or a sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kcompat.config.broker import BrokerConfig
from kcompat.config.dynamic import Alteration, ConfigChange, change_broker, change_topic
from kcompat.config.errors import ConfigError
from kcompat.config.listeners import PROTOCOLS, parse_endpoints, parse_protocol_map
from kcompat.config.properties import parse_properties
from kcompat.config.table import BROKER_KEYS, TOPIC_KEYS
from kcompat.config.types import ConfigType, format_value, parse_value
from kcompat.protocol.errors import ErrorCode

BROKER = BrokerConfig()
TEXT = st.one_of(
    st.text(max_size=30),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["true", "compact,delete", "-1", "0:1,1:2", "*", "PLAINTEXT://:1", "1e999", "NaN"]),
)
PREFIXED = st.sampled_from(sorted(BROKER_KEYS)).map("listener.name.out.{}".format)


def alterations(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[Alteration]]:
    return st.lists(st.builds(Alteration, names, st.integers(-1, 4), st.none() | TEXT), max_size=4)


@given(st.sampled_from(sorted(ConfigType)), TEXT)
def test_what_parses_is_written_so_that_it_parses_the_same(kind: ConfigType, text: str) -> None:
    try:
        value = parse_value("k", kind, text)
    except ConfigError:
        return
    written = format_value(value)
    assert written is not None
    assert repr(parse_value("k", kind, written)) == repr(value)
    assert format_value(parse_value("k", kind, written)) == written


@given(st.text(max_size=20), alterations(st.sampled_from(sorted(TOPIC_KEYS)) | st.text(max_size=10)))
def test_a_topic_change_is_stored_whole_or_refused(name: str, elements: list[Alteration]) -> None:
    change = change_topic(BROKER, name, {"segment.bytes": "99"}, elements)
    check_change(change)
    if change.error is ErrorCode.NONE:
        assert set(change.configs) <= set(TOPIC_KEYS)
        # Done once more it may append nothing new and finds nothing wrong.
        assert change_topic(BROKER, name, change.configs, elements) == change


@given(alterations(st.sampled_from(sorted(BROKER_KEYS)) | PREFIXED | st.text(max_size=10)), st.booleans())
def test_a_broker_change_is_stored_whole_or_refused(elements: list[Alteration], default: bool) -> None:
    change = change_broker(BROKER, {"log.segment.bytes": "99"}, elements, cluster_default=default)
    check_change(change)
    if change.error is ErrorCode.NONE:
        for name in change.configs:
            assert name not in BROKER_KEYS or BROKER_KEYS[name].is_dynamic
        # What was accepted can be obeyed: the broker's next snapshot is made of it.
        layers = ({}, change.configs) if default else (change.configs, {})
        BROKER.with_dynamic(*layers)


def check_change(change: ConfigChange) -> None:
    if change.error is not ErrorCode.NONE:
        assert change.configs == {}
        assert change.message or change.error is ErrorCode.UNKNOWN_SERVER_ERROR


@given(st.text(alphabet="A:/,[]09-z. ", max_size=40))
def test_listeners_are_read_or_refused(text: str) -> None:
    protocols = dict.fromkeys([*PROTOCOLS, "A"], "PLAINTEXT")
    try:
        endpoints = parse_endpoints(text, protocols)
    except ConfigError:
        return
    assert parse_endpoints(",".join(map(str, endpoints)), protocols) == endpoints


@given(st.text(alphabet="AB:,SLP INTEX", max_size=40))
def test_protocol_maps_are_read_or_refused(text: str) -> None:
    try:
        protocols = parse_protocol_map(text)
    except ConfigError:
        return
    assert set(protocols.values()) <= set(PROTOCOLS)


@given(st.text(alphabet="ab=:\\u0# \n\t!", max_size=40))
def test_properties_are_read_or_refused(text: str) -> None:
    try:
        values = parse_properties(text)
    except ConfigError:
        return
    assert all(isinstance(value, str) for value in values.values())
