"""Who reads and writes messages: the native codec where it was built, else functions generated in Python.

The one place that chooses.
"""

from __future__ import annotations

from kcompat import extensions

__all__ = ["compile_decoder", "compile_encoder", "compile_framer", "read_request_header"]

try:
    extensions.allow()
    from kcompat.protocol.native import (
        compile_decoder,
        compile_encoder,
        compile_framer,
        read_request_header,
    )
except ImportError:
    extensions.excuse()
    from kcompat.protocol.decoding import compile_decoder
    from kcompat.protocol.encoding import compile_encoder, compile_framer
    from kcompat.protocol.reading import read_request_header
