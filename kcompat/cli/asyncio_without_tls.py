"""asyncio in a process of ours, without the OpenSSL that it would load for connections which no broker makes.

That is 5 MB of memory for each broker, and some of its start.
"""

from __future__ import annotations

import sys


def load() -> None:
    """Import asyncio as a Python that was built without `ssl` would; before anything else imports it, else
    nothing is changed. asyncio itself has no TLS from then on. Everybody else imports `ssl` as ever, as kazoo
    does for a ZooKeeper behind TLS.
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # to import it is an ImportError, which asyncio expects
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]
