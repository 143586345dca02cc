"""Makes importable here: the broker process of the tests with real clients."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interop-tests"))
