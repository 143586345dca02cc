"""The two codecs of messages, for tests that ask both: functions generated in Python, and the extension."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kcompat import capabilities
from kcompat.protocol import decoding, encoding, reading, single_batch

if TYPE_CHECKING:
    from collections.abc import Callable


class MessageCodec(NamedTuple):
    """One way to read and write messages; its functions are those of `kcompat.protocol.compiling`."""

    name: str
    compile_decoder: Callable[..., Any]
    compile_encoder: Callable[..., Any]
    compile_framer: Callable[..., Any]
    read_request_header: Callable[[memoryview, int], Any]
    find_single_batch: Callable[[memoryview, int], tuple[bytes, int, int] | None]


PYTHON: Final = MessageCodec(
    "python",
    cache(decoding.compile_decoder),
    cache(encoding.compile_encoder),
    cache(encoding.compile_framer),
    reading.read_request_header,
    single_batch.find_single_batch,
)


def _find_native() -> MessageCodec | None:
    if not capabilities.native("kcompat.protocol._native"):
        return None
    from kcompat.protocol import _native, native

    return MessageCodec(
        "native",
        native.compile_decoder,
        native.compile_encoder,
        native.compile_framer,
        native.read_request_header,
        _native.find_single_batch,
    )


NATIVE: Final = _find_native()
"""None where the extension is not used (see `kcompat.capabilities`)."""

CODECS: Final = [codec for codec in (PYTHON, NATIVE) if codec is not None]
