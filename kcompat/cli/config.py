"""`kcompat config`: the supported configuration keys, and their reference page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.config.documentation import reference_page
from kcompat.config.keys import ConfigKey, Effect
from kcompat.config.table import BROKER_KEYS, TOPIC_KEYS

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print one line per key, or the reference page; return exit code 1 if no key matches the words."""
    if options.markdown:
        print(reference_page(), end="")
        return 0
    keys = TOPIC_KEYS if options.topic else BROKER_KEYS
    words = [word.lower() for word in options.words]
    found = [key for key in keys.values() if not words or any(word in key.name for word in words)]
    for key in found:
        print(_line(key))
    if not found:
        kind = "topic" if options.topic else "broker"
        files = [word for word in options.words if Path(word).is_file()]
        hint = f": `kcompat config check {files[0]}` checks a file" if files else ""
        print(f"kcompat: no {kind} key's name contains {' or '.join(options.words)}{hint}", file=sys.stderr)
    return 0 if found else 1


def _line(key: ConfigKey) -> str:
    default = "unset" if key.default is None else key.default or '""'
    effect = "" if key.effect is Effect.YES else f" [{key.effect.value}: {key.reason}]"
    return f"{key.name} ({key.type.name.lower()}, default {default}): {key.doc}{effect}"
