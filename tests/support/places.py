"""Where this clone keeps what is not in it: what `interop-tests/fetch.py` fetches."""

from __future__ import annotations

from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]
CACHE: Final = REPOSITORY / ".cache"
VENVS: Final = REPOSITORY / ".venvs"
