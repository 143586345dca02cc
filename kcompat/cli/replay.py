"""`kcompat replay`: play the requests of a flight record to a broker, and say where its answers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cli.start import in_one_sentence
from kcompat.errors import UsageError
from kcompat.instrumentation.recording.flight_reader import read_flight
from kcompat.instrumentation.replay.player import Player

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.instrumentation.replay.comparing import Difference
    from kcompat.peer.client import PeerSecurity

DIFFERENT = 1


def run(options: argparse.Namespace) -> int:
    """Play the record; return 1 if an answer differs."""
    return in_one_sentence(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    try:
        flight = read_flight(options.files)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}") from error
    security = _security(options.command_config, options.address) if options.command_config else None
    report = Player(flight, options.address, _tell, options.timeout, security).play(options.speed)
    for reason, count in report.left_out.items():
        print(f"left out {count}: {reason}")
    found = "no difference" if not report.differences else f"differences: {report.differences}"
    print(f"{report.played} requests played, {report.compared} answers compared, {found}")
    return DIFFERENT if report.differences else 0


def _security(file: Path, address: tuple[str, int]) -> PeerSecurity:
    """Return the TLS and the login that a file of client settings names. Raises UsageError."""
    from kcompat.admin.errors import JavaError
    from kcompat.admin.security import security_of
    from kcompat.admin.settings import ClientSettings
    from kcompat.config.properties import read_properties

    host, port = address
    try:
        return security_of(ClientSettings({**read_properties(file), "bootstrap.servers": f"{host}:{port}"}))
    except JavaError as error:
        raise UsageError(f"{file}: {error.__cause__ or error}") from error


def _tell(request: RecordedRequest, difference: Difference) -> None:
    print(f"{request!r}\n    {difference}", flush=True)
