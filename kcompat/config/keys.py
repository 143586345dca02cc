"""A row of the configuration table: the facts about one key."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.config.errors import InvalidValueError
from kcompat.config.types import ConfigType, Value, parse_value
from kcompat.config.validators import EachOneOf

if TYPE_CHECKING:
    from kcompat.config.validators import Validator


class Importance(Enum):
    """The importance that Kafka's documentation gives a key."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Scope(Enum):
    """The scope in which a broker key may be changed while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    PER_LISTENER = "per-listener"
    """Per broker, and only with a listener's prefix (key and trust stores)."""
    CLUSTER = "cluster-wide"


class Effect(Enum):
    """The effect of a key in kcompat."""

    YES = "yes"
    NONE = "accepted, no effect"
    REFUSED = "refused unless it has its default"


class ConfigKey(Struct, frozen=True):
    """A key of Kafka 3.9: name, type, default in Kafka's text form, and its effect in kcompat."""

    name: str
    type: ConfigType
    default: str | None
    doc: str
    importance: Importance = Importance.MEDIUM
    validator: Validator | None = None
    scope: Scope = Scope.READ_ONLY
    internal: bool = False
    """Whether Kafka hides the key from DescribeConfigs unless it is set."""
    effect: Effect = Effect.YES
    reason: str = ""
    """The reason why the key has no effect, or is refused."""

    @property
    def is_dynamic(self) -> bool:
        """Whether the key may change while the broker runs."""
        return self.scope is not Scope.READ_ONLY

    def parse(self, text: str) -> Value:
        """Return the typed value of `text`.

        Raises:
            InvalidValueError: the text is of another type, or its value is not allowed.
        """
        value = parse_value(self.name, self.type, text)
        problem = self.validator.problem(value) if self.validator is not None else None
        if problem is not None:
            shown: object = value
            if isinstance(self.validator, EachOneOf):
                shown = self.validator.first_bad(value)
            elif isinstance(value, list):
                shown = f"[{', '.join(value)}]"
            raise InvalidValueError(self.name, shown, problem)
        return value

    @property
    def default_value(self) -> Value:
        """The typed default; None if there is none."""
        return None if self.default is None else parse_value(self.name, self.type, self.default)


def no_effect(reason: str, *keys: ConfigKey) -> tuple[ConfigKey, ...]:
    """Return the keys marked as accepted without effect."""
    return tuple(replace(key, effect=Effect.NONE, reason=reason) for key in keys)


def refused(reason: str, *keys: ConfigKey) -> tuple[ConfigKey, ...]:
    """Return the keys marked so that a broker refuses to start with another value than the default."""
    return tuple(replace(key, effect=Effect.REFUSED, reason=reason) for key in keys)
