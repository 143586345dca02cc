"""The two codecs of messages, for tests that ask both: functions generated in Python, and the extension."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest import mock

from kcompat import twins
from kcompat.protocol import compiling, decoding, encoding, message, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class MessageCodec(NamedTuple):
    """One way to read and write messages; its functions are those of `kcompat.protocol.compiling`."""

    name: str
    compile_decoder: Callable[..., Any]
    compile_encoder: Callable[..., Any]
    compile_framer: Callable[..., Any]
    read_request_header: Callable[[memoryview, int], Any]


PYTHON: Final = MessageCodec(
    "python",
    cache(decoding.compile_decoder),
    cache(encoding.compile_encoder),
    cache(encoding.compile_framer),
    reading.read_request_header,
)


def _find_native() -> MessageCodec | None:
    if not twins.native("kcompat.protocol._native"):
        return None
    from kcompat.protocol import native

    return MessageCodec(
        "native",
        native.compile_decoder,
        native.compile_encoder,
        native.compile_framer,
        native.read_request_header,
    )


NATIVE: Final = _find_native()
"""None where the extension is not used (see `kcompat.twins`)."""

CODECS: Final = [codec for codec in (PYTHON, NATIVE) if codec is not None]


@contextmanager
def using(codec: MessageCodec) -> Iterator[None]:
    """All messages and request headers go through one codec until this ends."""
    with (
        mock.patch.object(compiling, "compile_decoder", codec.compile_decoder),
        mock.patch.object(compiling, "compile_encoder", codec.compile_encoder),
        mock.patch.object(compiling, "compile_framer", codec.compile_framer),
        mock.patch.object(message, "_DECODERS", {}),
        mock.patch.object(message, "_ENCODERS", {}),
        mock.patch.object(message, "compile_decoder", codec.compile_decoder),
        mock.patch.object(message, "compile_encoder", codec.compile_encoder),
        mock.patch.object(compiling, "read_request_header", codec.read_request_header),
    ):
        yield
