"""Which texts are paths of nodes."""

from __future__ import annotations

import re
from typing import Final

CONFIG_PATH: Final = "/zookeeper/config"
"""Where an ensemble keeps its members."""
SYSTEM_PATHS: Final = ("/zookeeper", "/zookeeper/quota", CONFIG_PATH)
"""Nodes that every ZooKeeper has, and nobody deletes."""

# Controls, surrogates, private use, specials, and what Java keeps as two surrogates.
_ILLEGAL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]|//|/\.\.?(?:/|$)")


def is_path(text: str) -> bool:
    """Whether ZooKeeper takes `text` as the path of a node."""
    if text == "/":
        return True
    return text.startswith("/") and not text.endswith("/") and _ILLEGAL.search(text) is None
