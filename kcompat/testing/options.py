"""Options of the plugin. Each can be given on the command line or in the ini file; the command line takes
precedence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXTERNAL: Final = "kcompat_external"
_CONFIG: Final = "kcompat_config"
_PORT: Final = "kcompat_port"
_RESET: Final = "kcompat_reset"
_HELP: Final = {
    _EXTERNAL: "run the tests against the broker at this address, instead of one of kcompat",
    _CONFIG: "a setting of the broker by Kafka's key, such as num.partitions=3; may be repeated",
    _RESET: "reset the broker before each test, so that none finds what another left",
    _PORT: "port of kafka_broker (any free one by default); with pytest-xdist worker gw1 takes the next one",
}
_LARGEST_PORT: Final = 65535


def add_options(parser: pytest.Parser) -> None:
    """Add the options to the command line and to the ini file."""
    group = parser.getgroup("kcompat", "kcompat, a broker for tests of Kafka clients")
    group.addoption("--kcompat-external", dest=_EXTERNAL, metavar="HOST:PORT", help=_HELP[_EXTERNAL])
    group.addoption(
        "--kcompat-config", dest=_CONFIG, metavar="KEY=VALUE", action="append", help=_HELP[_CONFIG]
    )
    group.addoption("--kcompat-port", dest=_PORT, metavar="PORT", help=_HELP[_PORT])
    group.addoption("--kcompat-reset", dest=_RESET, action="store_true", help=_HELP[_RESET])
    parser.addini(_EXTERNAL, _HELP[_EXTERNAL])
    parser.addini(_CONFIG, _HELP[_CONFIG], type="linelist")
    parser.addini(_PORT, _HELP[_PORT])
    parser.addini(_RESET, _HELP[_RESET], type="bool")


def check_options(config: pytest.Config) -> None:
    """Raise pytest.UsageError if an option has an invalid form."""
    external_address(config)
    port_of(config)
    settings(config)


def external_address(config: pytest.Config) -> str | None:
    """Return host and port of the external broker, or of several, separated by commas; None if there is none.

    Raises:
        pytest.UsageError: the option has another form.
    """
    address = _value_of(config, _EXTERNAL)
    if address is None:
        return None
    for each in address.split(","):
        host, _, port = each.strip().rpartition(":")
        if not host or not _is_port(port):
            raise pytest.UsageError(
                f"kcompat_external={address} is not an address: use HOST:PORT, such as localhost:9092"
            )
    return address


def port_of(config: pytest.Config, worker: str = "") -> int:
    """Return the port of `kafka_broker`; 0 stands for a free one. `worker` is the name that pytest-xdist
    gives to this process, such as `gw1`.

    Raises:
        pytest.UsageError: the option is not a port.
    """
    text = _value_of(config, _PORT) or "0"
    if not _is_port(text) and text != "0":
        raise pytest.UsageError(f"kcompat_port={text} is not a port: use a number from 1 to {_LARGEST_PORT}")
    number = worker.removeprefix("gw")
    return int(text) + int(number) if number.isdecimal() and text != "0" else int(text)


def does_reset(config: pytest.Config) -> bool:
    """Return whether brokers are reset before each test."""
    return bool(config.getoption(_RESET) or config.getini(_RESET))


def settings(config: pytest.Config) -> dict[str, str]:
    """Return the settings of the broker by Kafka's keys, from the ini file and the command line; the command
    line takes precedence.

    Raises:
        pytest.UsageError: one of them has no `=`.
    """
    return _pairs(config.getini(_CONFIG)) | _pairs(config.getoption(_CONFIG) or ())


def _pairs(lines: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for line in lines:
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise pytest.UsageError(
                f"kcompat_config={line} is not a setting: use KEY=VALUE, such as num.partitions=3"
            )
        pairs[key.strip()] = value.strip()
    return pairs


def _value_of(config: pytest.Config, name: str) -> str | None:
    text = config.getoption(name) or config.getini(name)
    return str(text) if text else None


def _is_port(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) <= _LARGEST_PORT
