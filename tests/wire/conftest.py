"""Makes importable: what these tests share, and the broker process of the tests with real clients."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "interop-tests")]
