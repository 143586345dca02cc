"""JSON payloads of znodes. A payload that no Kafka version writes raises `DamagedZnodeError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class DamagedZnodeError(StoreError):
    """The payload of a znode is not one that a Kafka version writes."""


def decoder_of(kind: type[T]) -> Callable[[bytes], T]:
    """Return a function that decodes payloads whose fields are those of the struct `kind`; further fields are
    ignored, and numbers may be strings. A controller decodes one payload or more for each partition.
    """
    decoder = msgspec.json.Decoder(kind, strict=False)

    def decode(data: bytes) -> T:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError as error:
            raise DamagedZnodeError(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _no_object(data) from error

    return decode


def json_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in the payload."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _no_object(data) from error


def _no_object(data: bytes) -> DamagedZnodeError:
    return DamagedZnodeError(f"not a JSON object: {data[:80]!r}")


def field(payload: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return a required field of a payload, converted to the type `kind`; numbers may be strings."""
    if name not in payload:
        raise DamagedZnodeError(f"lacks {name!r}")
    return converted(payload[name], kind)


def optional_field(payload: Mapping[str, Any], name: str, kind: type[T], default: T) -> T:
    """Return a field of a payload, converted to the type `kind`; `default` if it is absent or null."""
    value = payload.get(name)
    return default if value is None else converted(value, kind)


def converted(value: object, kind: type[T]) -> T:
    """Return a value converted to the type `kind`; numbers may be strings."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise DamagedZnodeError(str(error)) from error
