"""Translation of the arguments of Redpanda's image to variables of Kafka's image."""

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
    """Return the variables that correspond to `rpk redpanda start` and its options, or to redpanda.yaml
    (`described`).

    Options override the file. Only the addresses of the Kafka API are read: other settings concern Redpanda's
    use of the machine, or features that this broker lacks.

    Raises:
        ConfigError: the words are another command, or this broker cannot open its listeners.
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
    """Return the listeners of a redpanda.yaml and their advertised addresses, as texts."""
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
    """Return the two lists of addresses below `redpanda:`, read from YAML's block style, which Redpanda
    writes.
    """
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
