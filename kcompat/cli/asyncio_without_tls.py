"""Import of asyncio without OpenSSL, which a broker does not use through asyncio.

This saves a broker without a TLS listener 5 MB of memory, and some of its start time.
"""

from __future__ import annotations

import sys


def load() -> None:
    """Import asyncio as a Python built without `ssl` would. Has no effect if asyncio is imported already.

    asyncio has no TLS from then on. Other modules import `ssl` as usual: those of TLS listeners do, and kazoo
    for a ZooKeeper behind TLS.
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # to import it is an ImportError, which asyncio expects
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]
