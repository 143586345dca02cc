"""The lines of the log in both formats."""

from __future__ import annotations

import logging

import pytest
from msgspec.json import decode

from kcompat.cli.logging_options import SLOW_VARIABLE
from kcompat.cli.logs import Lines, LinesFrom, LinesOfJson, set_up_logging, with_request_logs
from kcompat.config.dynamic import Alteration, ConfigOperation
from kcompat.config.errors import ConfigError
from kcompat.config.loggers import change_loggers, level_listeners
from kcompat.logger_names import REQUESTS
from kcompat.node.environment import real_environment
from support.recorded_broker import RecordedBroker


def record(message: str, *arguments: object, fault: Exception | None = None) -> logging.LogRecord:
    exc_info = None if fault is None else (type(fault), fault, None)
    made = logging.LogRecord("kafka.log.LogManager", logging.ERROR, "", 0, message, arguments, exc_info)
    made.created, made.msecs = 1_700_000_000.25, 250.0
    return made


def test_a_record_is_one_line_of_json() -> None:
    line = LinesOfJson("").format(record('%s said "no"\n', "disk"))
    assert "\n" not in line
    assert decode(line) == {
        "timestamp": "2023-11-14T22:13:20.250Z",
        "level": "ERROR",
        "logger": "kafka.log.LogManager",
        "message": 'disk said "no"\n',
    }


def test_a_traceback_and_the_origin_are_fields_of_the_line() -> None:
    line = LinesOfJson("broker 1").format(record("failed", fault=ValueError("no\nway")))
    assert "\n" not in line
    assert decode(line)["origin"] == "broker 1"
    assert decode(line)["exception"].endswith("ValueError: no\nway")


def test_a_path_that_is_not_utf_8_is_in_the_line() -> None:
    line = LinesOfJson("").format(record("%s is lost", "/data/\udcff", fault=OSError("\udcff")))
    assert decode(line)["message"] == "/data/\\udcff is lost"


@pytest.mark.parametrize(("lines", "origin"), [(Lines(), ""), (LinesFrom("broker 1"), "broker 1: ")])
def test_a_name_that_a_client_has_chosen_begins_no_line(lines: logging.Formatter, origin: str) -> None:
    made = record("Failed: client %s", "a\n[2023] ERROR \x1b[31mall is lost", fault=ValueError("why"))
    line, *rest = lines.format(made).split("\n")
    assert line.startswith(f"{origin}[")
    assert line.endswith("ERROR Failed: client a\\n[2023] ERROR \\x1b[31mall is lost (kafka.log.LogManager)")
    assert rest == [f"{origin}ValueError: why"]


def test_a_format_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="use text or json"):
        set_up_logging({"KCOMPAT_LOG_FORMAT": "xml"})


@pytest.mark.parametrize("text", ["soon", "nan", "-1", "inf"])
async def test_a_limit_of_slow_requests_that_is_no_time(text: str) -> None:
    with pytest.raises(ConfigError, match=f"{SLOW_VARIABLE}: {text} is not a number of milliseconds"):
        with_request_logs(real_environment(), {SLOW_VARIABLE: text})


async def test_requests_are_measured_once_their_log_has_lines() -> None:
    logging.getLogger(REQUESTS).setLevel(logging.WARNING)
    broker = RecordedBroker()
    with_request_logs(real_environment(), {}).instrument(broker.hooks)
    assert broker.handler.on_frame == broker.on_frame
    change_loggers([Alteration(REQUESTS, ConfigOperation.SET, "DEBUG")], validate_only=False)
    assert broker.handler.on_frame != broker.on_frame
    for stop in broker.stops:
        stop()
    assert level_listeners == []
