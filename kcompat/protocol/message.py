"""The base of all messages, and their encoders and decoders, compiled on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from kcompat.protocol.compiling import compile_decoder, compile_encoder
from kcompat.protocol.schema import MAX_VALUES, Declaration, version_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.schema import Decoder, Encoder, M


class Message(Declaration):
    """A whole message: a request, a response, a header, or a payload with a version of its own."""

    @classmethod
    def decode(cls, view: memoryview, version: int, offset: int = 0, max_values: int = MAX_VALUES) -> Self:
        """Read one message at `offset`; bytes after it are ignored. Raises ProtocolViolation on damage."""
        return decoder(cls, version)(view, offset, max_values)[0]

    def encode(self, version: int) -> list[Any]:
        """Encode the message to byte strings, with `records` values between them as they were given.

        Raises ValueError for a value that the version cannot carry.
        """
        return encoder(type(self), version)(self)


_DECODERS: Final[dict[tuple[type[Declaration], int], Decoder[Any]]] = {}
_ENCODERS: Final[dict[tuple[type[Declaration], int], Encoder[Any]]] = {}


def decoder(cls: type[M], version: int) -> Decoder[M]:
    """Return the decoder of a version of a message, compiled on first use.

    Raises ValueError if there is none.
    """
    compiled = _DECODERS.get((cls, version))
    if compiled is None:
        compiled = _DECODERS[cls, version] = compile_decoder(cls, version)
    return compiled


def encoder(cls: type[M], version: int) -> Encoder[M]:
    """Return the encoder of a version of a message, compiled on first use.

    Raises ValueError if there is none.
    """
    compiled = _ENCODERS.get((cls, version))
    if compiled is None:
        compiled = _ENCODERS[cls, version] = compile_encoder(cls, version)
    return compiled


def message(
    versions: str,
    *,
    flexible: str | None = None,
    latest_stable: int | None = None,
    api_key: int = -1,
    record_type: int = -1,
) -> Callable[[type[M]], type[M]]:
    """Return a class decorator that gives a message its key and versions."""

    def declare(cls: type[M]) -> type[M]:
        cls.versions = version_range(versions)
        cls.latest_stable = cls.versions[-1] if latest_stable is None else latest_stable
        cls.flexible = range(version_range(flexible).start, cls.versions.stop) if flexible else range(0)
        cls.api_key = api_key
        cls.record_type = record_type
        return cls

    return declare
