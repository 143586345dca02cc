"""The settings of a console producer: `ProducerConfig`, as far as they have an effect here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.admin.errors import config_error
from kcompat.commands.console.setting_values import as_boolean, as_choice, as_number
from kcompat.records.compression import Codec

if TYPE_CHECKING:
    from collections.abc import Mapping

_CODECS: Final = {codec.name.lower(): codec for codec in Codec}
_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}


class ProducerSettings(msgspec.Struct, frozen=True):
    """Checked settings, by the names of Kafka's keys; times are in ms, sizes in bytes."""

    client_id: str
    acks: int
    codec: Codec
    is_idempotent: bool
    batch_size: int
    linger_ms: int
    retries: int
    retry_backoff_ms: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    max_block_ms: int
    max_request_size: int
    buffer_memory: int

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ProducerSettings:
        """Read the settings. Raises JavaError (`ConfigException`) for an invalid value."""

        def number(key: str, default: int, kind: str = "INT") -> int:
            return as_number(properties, key, default, kind, smallest=0)

        acks = as_choice(properties, "acks", "all", _ACKS)
        retries = number("retries", 2147483647)
        return cls(
            client_id=properties.get("client.id", "console-producer"),
            acks=acks,
            codec=as_choice(properties, "compression.type", "none", _CODECS),
            is_idempotent=_is_idempotent(properties, acks, retries),
            batch_size=number("batch.size", 16384),
            linger_ms=number("linger.ms", 0, "LONG"),
            retries=retries,
            retry_backoff_ms=number("retry.backoff.ms", 100, "LONG"),
            request_timeout_ms=number("request.timeout.ms", 30_000),
            delivery_timeout_ms=number("delivery.timeout.ms", 120_000),
            max_block_ms=number("max.block.ms", 60_000, "LONG"),
            max_request_size=number("max.request.size", 1 << 20),
            buffer_memory=number("buffer.memory", 32 << 20, "LONG"),
        )


def _is_idempotent(properties: Mapping[str, str], acks: int, retries: int) -> bool:
    """Return whether the producer is idempotent: as `enable.idempotence` says, or else if acks and retries
    allow it.
    """
    is_possible = acks == -1 and retries > 0
    if "enable.idempotence" not in properties:
        return is_possible
    is_asked = as_boolean(properties, "enable.idempotence", default=True)
    if is_asked and not retries:
        raise config_error("Must set retries to non-zero when using the idempotent producer.")
    if is_asked and acks != -1:
        raise config_error(
            "Must set acks to all in order to use the idempotent producer. "
            "Otherwise we cannot guarantee idempotence."
        )
    return is_asked
