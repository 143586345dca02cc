"""SCRAM users that are named on the command line, in the form of `kafka-storage format --add-scram`.

`SCRAM-SHA-256=[name=alice,password=secret]`; `iterations` and `salt` (base64) may be given, and with a salt
`saltedpassword` (base64) instead of the password. Kafka's counterpart: `ScramParser`. No error text repeats
the argument, which holds a secret.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from msgspec import Struct

from kcompat.errors import ConfigError
from kcompat.security.credentials import MAX_ITERATIONS, MIN_ITERATIONS, SCRAM_MECHANISMS

_MECHANISMS: Final = {mechanism.name: mechanism for mechanism in SCRAM_MECHANISMS}
_FIELDS: Final = frozenset(("name", "password", "saltedpassword", "salt", "iterations"))


class AddedUser(Struct, frozen=True, gc=False):
    """A user, a mechanism, and the credential in the text in which it is stored."""

    name: str
    mechanism: str
    credential: str
    replaces: bool = False
    """Whether an existing cluster gets the credential too, replacing its current one."""

    def __repr__(self) -> str:
        """Return a text that shows no secret."""
        return f"AddedUser({self.name!r}, {self.mechanism!r})"


def added_user(argument: str) -> AddedUser:
    """Return the user that an argument names.

    Raises:
        ConfigError: the argument is malformed.
    """
    if not is_utf8(argument):
        raise ConfigError("an --add-scram has bytes that are not UTF-8")
    name, equals, fields = argument.strip().partition("=")
    if not equals:
        raise ConfigError("an --add-scram has no =, as in SCRAM-SHA-256=[name=alice,password=secret]")
    mechanism = _MECHANISMS.get(name)
    if mechanism is None:
        raise ConfigError(f"the mechanism of an --add-scram is not one of {', '.join(_MECHANISMS)}")
    if not (fields.startswith("[") and fields.endswith("]")):
        raise ConfigError("what follows the mechanism of an --add-scram is not in brackets")
    values = _values(fields[1:-1])
    user = values.get("name")
    if not user:
        raise ConfigError("an --add-scram has no name")
    iterations = _iterations(user, values.get("iterations", str(MIN_ITERATIONS)))
    salt = _base_64(user, "salt", values["salt"]) if "salt" in values else None

    from kcompat.security.scram_keys import credential_of, credential_of_password  # loads OpenSSL

    if "password" in values and not values["password"]:
        raise ConfigError(f"the password in the --add-scram of {user} is empty")
    if "password" in values:
        credential = credential_of_password(mechanism, values["password"], iterations, salt)
    elif "saltedpassword" not in values:
        raise ConfigError(f"the --add-scram of {user} has neither a password nor a saltedpassword")
    elif salt is None:
        raise ConfigError(f"the --add-scram of {user} has a saltedpassword without its salt")
    else:
        salted = _base_64(user, "saltedpassword", values["saltedpassword"])
        credential = credential_of(mechanism, salt, salted, iterations)
    return AddedUser(user, mechanism.name, credential.format())


def is_utf8(text: str) -> bool:
    """Return whether the bytes of a command line argument are UTF-8: Python turns other bytes into lone
    surrogates.
    """
    return all(not 0xD800 <= ord(character) < 0xE000 for character in text)


def _values(text: str) -> dict[str, str]:
    values = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name not in _FIELDS:
            raise ConfigError(f"an --add-scram has a part that is none of {', '.join(sorted(_FIELDS))}")
        is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
        values[name] = value[1:-1] if is_quoted else value
    return values


def _iterations(user: str, text: str) -> int:
    if text.isdecimal() and MIN_ITERATIONS <= int(text) <= MAX_ITERATIONS:
        return int(text)
    allowed = f"a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}"
    raise ConfigError(f"the iterations in the --add-scram of {user} are not {allowed}")


def _base_64(user: str, field: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ConfigError(f"the {field} in the --add-scram of {user} is not base64") from None
