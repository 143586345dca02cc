"""The payloads of znodes as tests read them."""

from __future__ import annotations

import json
from typing import Any


def json_of(data: bytes | None) -> Any:
    """Parse the JSON payload of a znode, which has one."""
    assert data is not None
    return json.loads(data)
