from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.cli.log import rows_of
from kcompat.cli.logs import LinesFrom, set_up_logging
from kcompat.cli.main import main
from kcompat.cli.parser import build_parser
from kcompat.cli.start import DEFAULT_DIRECTORY, log_oddities, read_config
from kcompat.config.errors import ConfigError
from kcompat.embedded.settings import read_settings
from kcompat.errors import UsageError
from kcompat.log.dump.rows import Row
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, DumpFile
from kcompat.logger_names import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.config.broker import BrokerConfig


LOGGERS = ("kcompat", "kcompat.tests.cli")


def configured(*arguments: str, environment: dict[str, str] | None = None) -> BrokerConfig:
    options = build_parser().parse_args(["start", *arguments])
    return read_config(options, environment or {}, options.data_dir)


def test_without_arguments_it_serves_this_machine_on_9092_and_stores_below_the_current_directory() -> None:
    config = configured()
    assert [str(listener) for listener in config.listeners] == ["PLAINTEXT://localhost:9092"]
    assert config.log_dirs == [str(DEFAULT_DIRECTORY.absolute())]


def test_directories_that_are_given_count(tmp_path: Path) -> None:
    assert configured("--override", "log.dirs=/a,/b").log_dirs == ["/a", "/b"]
    assert configured(environment={"KAFKA_LOG_DIR": "/c"}).log_dirs == ["/c"]
    properties = tmp_path / "server.properties"
    properties.write_text("log.dirs=/d\nnum.partitions=7\n")
    assert configured(str(properties)).log_dirs == ["/d"]
    config = configured(str(properties), "--data-dir", "/e", "--override", "log.dir=/f")
    assert (config.log_dirs, config.num_partitions) == (["/e"], 7)


@pytest.mark.parametrize(
    "command",
    [["start"], ["compact", "t"], ["hand-over", "--zookeeper", "localhost"]],
    ids=lambda words: words[0],
)
def test_a_directory_that_is_given_is_below_the_current_one(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = build_parser().parse_args([*command, "--data-dir", "d"])
    assert options.data_dir == tmp_path / "d"
    assert read_config(options, {}, options.data_dir).log_dirs == [str(tmp_path / "d")]


def test_a_properties_file_and_listeners_are_taken_as_kafka_takes_them(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("num.partitions=7\n")
    environment = {"KAFKA_LISTENERS": "PLAINTEXT://:1"}
    assert [str(listener) for listener in configured(str(properties)).listeners] == ["PLAINTEXT://:9092"]
    assert [str(listener) for listener in configured(environment=environment).listeners] == ["PLAINTEXT://:1"]


def test_a_broker_that_shares_a_zookeeper_listens_where_others_reach_it() -> None:
    """At localhost every broker of the cluster would take it for itself."""
    environment = {"KAFKA_ZOOKEEPER_CONNECT": "zk1:2181"}
    assert [str(each) for each in configured(environment=environment).listeners] == ["PLAINTEXT://:9092"]
    alone = configured("--override", "zookeeper.connect=", environment=environment)
    assert [str(each) for each in alone.listeners] == ["PLAINTEXT://localhost:9092"]


@pytest.mark.parametrize(
    ("listeners", "arguments", "expected"),
    [
        (None, ["--port", "0"], "PLAINTEXT://localhost:0"),
        (None, ["--host", "0.0.0.0", "--port", "19092"], "PLAINTEXT://0.0.0.0:19092"),
        (None, ["--host", "[::]"], "PLAINTEXT://[::]:9092"),
        (None, ["--host", "b.example.com"], "PLAINTEXT://b.example.com:9092"),
        ("PLAINTEXT://127.0.0.1:1", ["--port", "2"], "PLAINTEXT://127.0.0.1:2"),
        ("PLAINTEXT://[::1]:1", ["--port", "2"], "PLAINTEXT://[::1]:2"),
        ("PLAINTEXT://:1", ["--host", "localhost"], "PLAINTEXT://localhost:1"),
    ],
)
def test_host_and_port_move_the_only_listener(
    listeners: str | None, arguments: list[str], expected: str
) -> None:
    override = [] if listeners is None else ["--override", f"listeners={listeners}"]
    assert [str(listener) for listener in configured(*arguments, *override).listeners] == [expected]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "5"], "--port 5 is for a single listener, but there are 2"),
        (["--host", "h", "--port", "5"], "--host h and --port 5 are for a single listener, but there are 2"),
    ],
)
def test_host_and_port_do_not_guess_among_several_listeners(arguments: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        configured(
            *arguments,
            "--override", "listeners=A://:1,B://:2",
            "--override", "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", ""], "argument --host: the address is empty: 0.0.0.0 stands for every interface"),
        (["--port", "x"], "argument --port: x is not a port, which is a number from 0 to 65535"),
        (["--zookeeper-port", "x:"], "argument --zookeeper-port:  is not a port"),
        (["--zookeeper-port", "2181:x"], "argument --zookeeper-port: x is not a port"),
        (["--port", "65536"], "argument --port: 65536 is not a port, which is a number from 0 to 65535"),
        (["--memory", "--data-dir", "d"], "argument --data-dir: not allowed with argument --memory"),
        (["--data-dir", ""], "argument --data-dir: the name of the directory is empty"),
        (["--brokers", "0"], "argument --brokers: 0 is not a number of brokers, which is from 1 to 100"),
    ],
)
def test_a_command_line_that_is_not_understood(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["start", *arguments])
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--override", "num.partitions"], "--override num.partitions is not of the form key=value"),
        (["--override", "num.partitions=x"],
         "Invalid value x for configuration num.partitions: Not a number of type INT"),
        (["--override", "log.dirs=,"], "log.dirs=, names no directory"),
        (["--data-dir", "/a,b"],
         "The data directory '/a,b' cannot be used: log.dirs takes a comma for the end of a name"),
        (["no/such/server.properties"],
         "no/such/server.properties cannot be read: No such file or directory"),
        (["--override", "zookeeper.connect=localhost:x"],
         "zookeeper.connect: 'localhost:x' has no number for its port"),
        (["--processes"], "--processes is for several brokers: say how many with --brokers"),
        (["--processes", "--brokers", "2", "--override", "zookeeper.connect=h:1"],
         "--processes keeps the metadata in the first broker, but zookeeper.connect says that it is "
         "elsewhere: start each broker there by a command of its own"),
        (["--processes", "--brokers", "2", "--override", "advertised.listeners=PLAINTEXT://h:1"],
         "several brokers that are alike take one listener, and advertise what it is bound to"),
        (["--memory", "--override", "listeners=SSL://:0"],
         "Listener SSL: A listener with TLS needs a key store: set ssl.keystore.location, or "
         "ssl.keystore.key and ssl.keystore.certificate.chain"),
    ],
)  # fmt: skip
def test_what_the_broker_cannot_do_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("KAFKA_")]:
        monkeypatch.delenv(name)
    assert main(["start", *arguments]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"kcompat: {sentence}\n")


def test_every_line_of_a_record_says_where_it_comes_from() -> None:
    traceback = (ValueError, ValueError("two"), None)
    record = logging.LogRecord("kcompat.x", logging.ERROR, "", 1, "one", None, traceback)
    first, second = LinesFrom("broker 1").format(record).split("\n")
    assert first.startswith("broker 1: [")
    assert first.endswith("] ERROR one (kcompat.x)")
    assert second == "broker 1: ValueError: two"


def test_apis_lists_what_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["KEY", "API", "VERSIONS"]
    assert "DescribeConfigs" in {line.split()[1] for line in lines}


def test_config_lists_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--topic", "retention.ms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "delete.retention.ms",
        "local.retention.ms",
        "retention.ms",
    ]
    assert lines[2].startswith("retention.ms (long, default 604800000): Age at which")


def test_config_finds_words_in_any_case_and_says_when_there_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "num.PARTITIONS"]) == 0
    assert capsys.readouterr().out.startswith("num.partitions (int, default 1): ")
    assert main(["config", "--topic", "partitons", "retenton"]) == 1
    assert capsys.readouterr() == ("", "kcompat: no topic key's name contains partitons or retenton\n")


def test_config_given_a_file_says_which_command_checks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.touch()
    assert main(["config", str(file)]) == 1
    assert capsys.readouterr().err == (
        f"kcompat: no broker key's name contains {file}: `kcompat config check {file}` checks a file\n"
    )


@pytest.mark.parametrize(
    "arguments", [["config"], ["apis"], ["log", "dump", "DIR"]], ids=lambda words: words[0]
)
def test_output_that_cannot_be_written_is_one_sentence(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n0\n")
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main([word.replace("DIR", str(tmp_path)) for word in arguments]) == 1
    assert capsys.readouterr().err == "kcompat: the output cannot be written: No space left on device\n"


def test_a_file_of_a_log_that_cannot_be_looked_at_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.symlink_to(path)
    assert main(["log", "dump", "--quiet", str(path)]) == 2
    reason = os.strerror(errno.ELOOP)
    assert capsys.readouterr().err == f"kcompat: {path} cannot be read: {reason}\n"


class BadSector(Dumper):
    """Reads no file to its end."""

    def rows(self, file: DumpFile) -> Iterator[Row]:
        yield Row("fine", 0, {})
        raise OSError(errno.EIO, "Input/output error")


def test_a_file_of_a_log_that_cannot_be_read_further_is_named() -> None:
    rows = rows_of(BadSector(Depth()), DumpFile("the file", 100))
    next(rows)
    with pytest.raises(OSError, match="Input/output error") as caught:
        next(rows)
    assert caught.value.filename == "the file"


def test_a_directory_without_files_of_a_log_is_not_called_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").touch()
    assert main(["log", "dump", "--verify", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", f"kcompat: no file of a log is in {tmp_path}\n")


def test_without_a_command_it_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "start" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kcompat ")


def test_levels_come_from_the_variables_of_kafka() -> None:
    set_up_logging({"KAFKA_LOG4J_ROOT_LOGLEVEL": "ERROR", "KAFKA_LOG4J_LOGGERS": "kcompat.tests.cli=trace"})
    assert [logging.getLogger(name).level for name in LOGGERS] == [logging.ERROR, LEVELS["TRACE"]]
    set_up_logging({"KAFKA_LOG4J_ROOT_LOGLEVEL": "ERROR"}, "DEBUG")
    assert logging.getLogger("kcompat").level == logging.DEBUG
    with pytest.raises(
        ConfigError, match="KAFKA_LOG4J_ROOT_LOGLEVEL has the level 'LOUD'; it must be one of"
    ):
        set_up_logging({"KAFKA_LOG4J_ROOT_LOGLEVEL": "LOUD"})
    with pytest.raises(
        ConfigError, match="KAFKA_LOG4J_LOGGERS has 'x', which is not of the form LOGGER=LEVEL"
    ):
        set_up_logging({"KAFKA_LOG4J_LOGGERS": "x"})


@pytest.mark.parametrize("command", [["start"], ["compact", "t"], ["hand-over", "--zookeeper", "z:1"]])
def test_a_tilde_is_the_home_directory(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    options = build_parser().parse_args([*command, "--data-dir", "~/x"])
    assert options.data_dir == tmp_path / "x"
    file = ["~/s"] if command == ["start"] else ["--properties", "~/s"]
    assert build_parser().parse_args([*command, *file]).properties == tmp_path / "s"
    dump = build_parser().parse_args(["log", "dump", "~/x", "./y"])
    assert dump.paths == [str(tmp_path / "x"), "./y"]
    assert read_settings("~/x", "", 0, None)["log.dirs"] == str(tmp_path / "x")
    assert read_settings(Path("~/x"), "", 0, None)["log.dirs"] == str(tmp_path / "x")


def test_variables_are_resolved_over_all_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("num.partitions=${env:PARTS}\nbroker.rack=${env:RACK}\n")
    named = "config.providers=env"
    kind = "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    environment = {"PARTS": "7", "RACK": "r", "KAFKA_MESSAGE_MAX_BYTES": "${env:BYTES}", "BYTES": "5"}
    config = configured(str(tmp_path / "s"), "--override", named, "--override", kind, environment=environment)
    assert (config.num_partitions, config.rack, config.integer("message.max.bytes")) == (7, "r", 5)


def test_a_variable_without_a_provider_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    log_oddities(configured("--override", "broker.rack=${env:RACK}"))
    assert "Variables in these configurations have no value" in caplog.text
    assert caplog.text.count("broker.rack") == 1


def test_a_tilde_in_a_properties_file_is_a_name_as_in_kafka(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("log.dirs=~/x\n")
    assert configured(str(tmp_path / "s")).log_dirs == ["~/x"]


def test_the_home_of_a_user_who_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["start", "--data-dir", "~no-such-user/x"])
    assert "names the home of a user who is not known" in capsys.readouterr().err
    with pytest.raises(UsageError, match="names the home of a user who is not known"):
        read_settings("~no-such-user/x", "", 0, None)
