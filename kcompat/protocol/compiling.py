"""Who reads and writes messages: the native codec where it was built, else functions generated in Python.

The one place that chooses. The environment variable KCOMPAT_NATIVE=0 forces Python, KCOMPAT_NATIVE=1 makes a
missing extension an ImportError.
"""

from __future__ import annotations

import os

__all__ = ["compile_decoder", "compile_encoder", "read_request_header"]

_native_wanted = os.environ.get("KCOMPAT_NATIVE", "")
_has_native = _native_wanted != "0"
if _has_native:
    try:
        from kcompat.protocol.native import compile_decoder, compile_encoder, read_request_header
    except ImportError:
        if _native_wanted == "1":
            raise
        _has_native = False
if not _has_native:
    from kcompat.protocol.decoding import compile_decoder
    from kcompat.protocol.encoding import compile_encoder
    from kcompat.protocol.reading import read_request_header
