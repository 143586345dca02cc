"""The metrics ports of `kcompat start` and of the container image, opened if an option or a variable sets
their number.

Options set the environment variables that the container image reads, so that the processes of brokers inherit
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from kcompat.cli.argument_types import host_name, port_number
from kcompat.config.errors import ConfigError
from kcompat.config.listeners import MAX_PORT
from kcompat.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, MutableMapping

    from kcompat.node.environment import Environment
    from kcompat.node.hooks import Hooks
    from kcompat.observe.port import MetricsPorts

PORT_VARIABLE: Final = "KCOMPAT_METRICS_PORT"
"""Environment variable with the number of the metrics port; there is no port without it."""
HOST_VARIABLE: Final = "KCOMPAT_METRICS_HOST"
"""Environment variable with the address of the metrics port, by default 127.0.0.1."""

EVERY_INTERFACE: Final = "0.0.0.0"  # noqa: S104 - for containers, whose ports the engine opens


def add_metrics(start: argparse.ArgumentParser) -> None:
    """Add the options of `kcompat start` for the metrics port."""
    start.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="PORT",
        help="show metrics for Prometheus and the health of the broker by HTTP at this port; with --brokers, "
        "the ports of the others follow; 0 for any free one (default: KCOMPAT_METRICS_PORT, else none). "
        "Needs the extra http",
    )
    start.add_argument(
        "--metrics-host",
        type=host_name,
        metavar="ADDRESS",
        help="address of the metrics port; 0.0.0.0 for every interface (default: KCOMPAT_METRICS_HOST, else "
        "127.0.0.1)",
    )


def choose_metrics(options: argparse.Namespace, variables: MutableMapping[str, str]) -> None:
    """Set the environment variables that correspond to the options. Raises UsageError for options that
    contradict each other.
    """
    if options.metrics_port is not None:
        variables[PORT_VARIABLE] = str(options.metrics_port)
    if options.metrics_host is not None:
        if not variables.get(PORT_VARIABLE):
            raise UsageError("--metrics-host needs --metrics-port, which opens the port")
        variables[HOST_VARIABLE] = options.metrics_host
    if options.processes and variables.get(PORT_VARIABLE) == "0":
        raise UsageError("--metrics-port 0 is for brokers in one process: use a number with --processes")


def metrics_ports(variables: Mapping[str, str], brokers: int) -> MetricsPorts | None:
    """Return the metrics ports for this number of brokers; None unless the variables set a port. Raises
    ConfigError.
    """
    text = variables.get(PORT_VARIABLE)
    if not text:
        return None
    if not text.isdecimal() or int(text) + brokers - 1 > MAX_PORT:
        raise ConfigError(f"{PORT_VARIABLE}={text} is not a port: use a number from 0 to {MAX_PORT}")
    from kcompat.observe.port import MetricsPorts

    host = variables.get(HOST_VARIABLE) or "127.0.0.1"
    return MetricsPorts(int(text), host, is_in_a_row=brokers > 1)


def with_metrics(environment: Environment, ports: MetricsPorts | None) -> Environment:
    """Return the environment with the opening of metrics ports added to its instruments."""
    if ports is None:
        return environment

    def attach(broker: Hooks) -> None:
        environment.instrument(broker)
        ports.attach(broker)

    return structs.replace(environment, instrument=attach)
