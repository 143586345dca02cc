"""`python -m kcompat`: the same as the `kcompat` command."""

from __future__ import annotations

import sys

from kcompat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
