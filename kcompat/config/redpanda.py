"""Arguments of Redpanda's image translated to variables of Kafka's image: where its Kafka API listens."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Final

from kcompat.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LISTS: Final = ("kafka_api", "advertised_kafka_api")
_LINE: Final = re.compile(r"( *)(- +)?(\w+): *(.*)")


def variables_of_rpk(words: Sequence[str], described: Path) -> dict[str, str]:
    """The variables that stand for `rpk redpanda start` and its options, or for redpanda.yaml (`described`).

    Options count before the file. Of both only the addresses of the Kafka API are read: the rest is about
    how much of the machine Redpanda may have, and about what this broker has not.

    Raises:
        ConfigError: it is another command, or its listeners cannot be had.
    """
    if list(words[:2]) != ["redpanda", "start"]:
        raise ConfigError(
            f"rpk {' '.join(words)} is not known here: there is `rpk redpanda start`, and no more"
        )
    parser = argparse.ArgumentParser(prog="rpk redpanda start", add_help=False, allow_abbrev=False)
    parser.add_argument("--kafka-addr")
    parser.add_argument("--advertise-kafka-addr")
    options, _ = parser.parse_known_args(words[2:])
    inside, outside = _described(described) if described.is_file() else ("", "")
    asked = {
        "KAFKA_LISTENERS": options.kafka_addr or inside,
        "KAFKA_ADVERTISED_LISTENERS": options.advertise_kafka_addr or outside,
    }
    named = next(filter(None, asked.values()), "")
    names = [address.partition("://")[0] for address in named.split(",") if address]
    if names:
        asked["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"] = ",".join(f"{name}:PLAINTEXT" for name in names)
        asked["KAFKA_INTER_BROKER_LISTENER_NAME"] = names[0]
    return {name: value for name, value in asked.items() if value}


def _described(path: Path) -> tuple[str, str]:
    """The listeners of a redpanda.yaml, and what is told to clients of them."""
    found = _endpoints(path.read_text(encoding="utf-8"))
    for endpoint in found["kafka_api"]:
        method = endpoint.get("authentication_method", "none")
        if method != "none":
            raise ConfigError(f"{path} asks for the authentication_method {method}, which is not served")
    inside, outside = (
        ",".join("{name}://{address}:{port}".format_map(endpoint) for endpoint in found[name])
        for name in _LISTS
    )
    return inside, outside


def _endpoints(text: str) -> dict[str, list[dict[str, str]]]:
    """The two lists of addresses below `redpanda:`, in YAML's block style, which is how it is written."""
    found: dict[str, list[dict[str, str]]] = {name: [] for name in _LISTS}
    section = key = ""
    for line in text.splitlines():
        match = _LINE.fullmatch(line.partition("#")[0].rstrip())
        if match is None:
            continue
        indented, dash, name, value = match.groups()
        if not indented and not dash:
            section, key = name, ""
        elif not dash and not value:
            key = name
        elif section == "redpanda" and key in _LISTS:
            if dash:
                found[key].append({})
            found[key][-1][name] = value.strip("\"'")
    return found
