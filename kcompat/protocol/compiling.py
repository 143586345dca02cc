"""The codec in use: the native one where it was built, else functions generated in Python."""

from __future__ import annotations

from kcompat import capabilities

__all__ = ["compile_decoder", "compile_encoder", "compile_framer", "find_single_batch", "read_request_header"]

if capabilities.native("kcompat.protocol._native"):
    from kcompat.protocol._native import find_single_batch
    from kcompat.protocol.native import (
        compile_decoder,
        compile_encoder,
        compile_framer,
        read_request_header,
    )
else:
    from kcompat.protocol.decoding import compile_decoder
    from kcompat.protocol.encoding import compile_encoder, compile_framer
    from kcompat.protocol.reading import read_request_header
    from kcompat.protocol.single_batch import find_single_batch
