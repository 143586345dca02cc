"""`kcompat doctor`: name what is wrong with a broker for a client, and what to do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kcompat.cli.argument_types import path, record_count, seconds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kcompat.doctor.finding import Finding


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    doctor = commands.add_parser(
        "doctor",
        help="name what is wrong with a broker, and what to do",
        description="Connect to any Kafka broker as a client would, and look at what can keep clients from "
        "working: the address, TLS, the login, advertised addresses, the controller, disks, replicas, "
        "groups, clocks and limits. Nothing is changed. Exit code 1: something is wrong.",
    )
    doctor.add_argument("address", metavar="HOST:PORT", help="brokers, as in bootstrap.servers")
    doctor.add_argument(
        "--command-config",
        type=path,
        metavar="FILE",
        help="properties of the client: TLS, login, and limits that are compared with the brokers'",
    )
    doctor.add_argument(
        "--max-lag",
        type=record_count,
        default=10_000,
        metavar="RECORDS",
        help="records that a group may be behind (default: 10000)",
    )
    doctor.add_argument(
        "--timeout",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="time in which a broker has to connect and to answer (default: 5)",
    )
    doctor.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form of the output")


def run(options: argparse.Namespace) -> int:
    """Print the findings; return 1 if something is wrong."""
    from kcompat.admin.errors import JavaError
    from kcompat.config.errors import ConfigError
    from kcompat.config.properties import read_properties
    from kcompat.doctor.diagnosis import diagnose
    from kcompat.doctor.finding import Severity

    try:
        file = options.command_config
        properties = {} if file is None else read_properties(file)
        properties["bootstrap.servers"] = options.address
        findings = list(diagnose(properties, options.max_lag, options.timeout))
    except ConfigError as fault:
        print(f"kcompat: {fault}", file=sys.stderr)
        return 2
    except JavaError as fault:
        reason = str(fault.__cause__ or fault)
        hint = ": name brokers as HOST:PORT, with commas between them" if "bootstrap" in reason else ""
        print(f"kcompat: {reason}{hint}", file=sys.stderr)
        return 2
    if options.output == "json":
        _print_json(options.address, findings)
    else:
        _print_text(options.address, findings)
    return int(any(each.severity is not Severity.NOTE for each in findings))


def _print_json(address: str, findings: Sequence[Finding]) -> None:
    import msgspec

    print(msgspec.json.encode({"address": address, "findings": findings}).decode())


def _print_text(address: str, findings: Sequence[Finding]) -> None:
    for each in findings:
        print(f"{each.severity.value.upper()} {each.name}: {each.what}.\n  {each.advice}")
    if not findings:
        print(f"{address}: nothing is wrong.")
