"""`kcompat start`: one broker or several, in this process or in processes of their own, until a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cli.announcement import announce, warn_of_unknown_names
from kcompat.cli.control import BoundControl, settings_of_options
from kcompat.cli.logging_options import choose_logging
from kcompat.cli.logs import set_up_logging, with_request_logs
from kcompat.cli.metrics import choose_metrics, metrics_ports, with_metrics
from kcompat.cli.own_process import (
    collect_less_often,
    ended_by_signals,
    keep_freed_memory,
)
from kcompat.cli.process_title import hide, hide_settings
from kcompat.cli.service_manager import report_service
from kcompat.config.broker import BrokerConfig, as_log_dirs
from kcompat.config.errors import ConfigError
from kcompat.config.first_topics import check_first_topics, parse_first_topic, topics_of_variables
from kcompat.config.known import NEWER_KEYS, meant_key
from kcompat.config.properties import load_static, parse_overrides
from kcompat.config.providers import has_variable, resolve_variables
from kcompat.descriptors import raise_limit
from kcompat.errors import KcompatError
from kcompat.instrumentation.recording.instruments import RECORD_VARIABLE, instruments
from kcompat.net.spinning import spinning_loop

LOOPBACK_LISTENER = "PLAINTEXT://localhost:9092"
"""Default listener: the loopback address, for programs of this machine alone."""

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kcompat.cli.control import ControlSettings
    from kcompat.config.first_topics import FirstTopic
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.node.development import Development
    from kcompat.node.environment import Environment
    from kcompat.security.added_users import AddedUser

logger = logging.getLogger(__name__)

DEFAULT_DIRECTORY = Path("kcompat-data")
"""Default data directory: in the current directory, where users see it and can easily remove it."""

REPORTERS = frozenset({"kafka.metrics.reporters", "metric.reporters"})
"""Keys of metrics reporter classes; setting one logs a warning, since the user may expect metrics to be sent.
"""


def run(options: argparse.Namespace) -> int:
    """Run the brokers; return the exit code."""
    return in_one_sentence(lambda: _run(options))


def in_one_sentence(work: Callable[[], int]) -> int:
    """Run `work` and return its exit code; print a fault of the user's making as one sentence on standard
    error.
    """
    from kcompat.log.errors import LogDirectoryError
    from kcompat.net.listener import ListenerError
    from kcompat.store.interface import StoreError

    try:
        return work()
    except (KcompatError, ListenerError, LogDirectoryError, StoreError) as error:
        print(f"kcompat: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    log_level = choose_logging(options, os.environ)
    set_up_logging(os.environ, log_level)
    if options.record is not None:
        os.environ[RECORD_VARIABLE] = str(options.record)  # processes of brokers inherit it
    hide_settings(parse_overrides(options.override).items())
    hide(text.partition("=")[2] for text in options.add_scram)
    hide(text.partition(":")[2] for text in options.users)
    with _directory(options) as directory:
        config = read_config(options, os.environ, directory)
        users = _first_users(options.add_scram)
        development = _read_development(options)
        if development is not None:
            config = development.secured(config)
            users += development.scram_users()
        log_oddities(config)
        topics = [parse_first_topic(text) for text in options.topics] or topics_of_variables(os.environ)
        check_first_topics(topics, config, options.brokers)

        def started(addresses: str) -> Sequence[str]:
            if development is None:
                return ()
            from kcompat.cli.development import write_client_files

            return write_client_files(development, config, addresses)

        control = settings_of_options(options)
        choose_metrics(options, os.environ)
        if options.processes:
            from kcompat.cli.processes import command

            return command.run(
                config, options.brokers, options.zookeeper_port, log_level, users, topics, started
            )
        return run_brokers(config, options.brokers, options.zookeeper_port, started, users, topics, control)


def _first_users(added: Sequence[str]) -> list[AddedUser]:
    """Return the users of --add-scram. Raises ConfigError."""
    if not added:
        return []
    from kcompat.security.added_users import added_user  # late: most commands have none

    return list(map(added_user, added))


def _read_development(options: argparse.Namespace) -> Development | None:
    if not options.dev_tls and not options.users:
        return None
    from kcompat.cli.development import read_development  # most brokers need none of this

    return read_development(options, os.environ)


def run_brokers(
    config: BrokerConfig,
    brokers: int = 1,
    zookeeper: tuple[str, int] | None = None,
    started: Callable[[str], Sequence[str]] = lambda _: (),
    users: Sequence[AddedUser] = (),
    topics: Sequence[FirstTopic] = (),
    control: ControlSettings | None = None,
) -> int:
    """Run this number of brokers in this process until a signal ends them; return the exit code.

    `started` is called with their addresses when they serve clients and have `topics`, before this is
    printed; it returns lines to print behind. ZooKeeper clients are served at the address `zookeeper`, and a
    control port as `control` says. A new cluster begins with `users`.
    """
    raise_limit()
    keep_freed_memory()
    loop_factory = None if control is None else control.loop_factory
    with asyncio.Runner(loop_factory=loop_factory or spinning_loop) as runner:
        runner.run(_serve(config, brokers, zookeeper, started, users, topics, control))
    return 0


def read_config(
    options: argparse.Namespace, environment: Mapping[str, str], directory: Path | None = None
) -> BrokerConfig:
    """Return the configuration that the command line, the environment and the properties file specify
    together.

    Raises:
        ConfigError: a value is not allowed.
    """
    values = read_values(options, environment, directory)
    is_alone = options.properties is None and not values.get("zookeeper.connect")
    if is_alone and not values.get("listeners"):
        values["listeners"] = LOOPBACK_LISTENER
    config = BrokerConfig(values)
    return _listening_at(config, options.host, options.port)


def read_values(
    options: argparse.Namespace, environment: Mapping[str, str], directory: Path | None
) -> dict[str, str]:
    """Return the configured texts by key, not validated yet. `directory` replaces the configured data
    directories.

    Raises:
        ConfigError: the configuration cannot be parsed.
    """
    values = resolve_variables(load_static(options.properties, environment, options.override), environment)
    if directory is not None:
        values.pop("log.dir", None)
        values["log.dirs"] = as_log_dirs(directory)
    elif not values.get("log.dirs") and not values.get("log.dir"):
        values["log.dirs"] = str(DEFAULT_DIRECTORY.absolute())
    return values


def _listening_at(config: BrokerConfig, host: str | None, port: int | None) -> BrokerConfig:
    """Return the configuration with its only listener at another host and port; None leaves the host or the
    port as it is.
    """
    options = [f"--{name} {value}" for name, value in (("host", host), ("port", port)) if value is not None]
    if not options:
        return config
    if len(config.listeners) != 1:
        verb = "are" if len(options) > 1 else "is"
        raise ConfigError(
            f"{' and '.join(options)} {verb} for a single listener, but there are {len(config.listeners)}: "
            f"change listeners={config.string('listeners')} instead"
        )
    listener = config.listeners[0]
    if host is not None:
        listener = replace(listener, host=host)
    if port is not None:
        listener = replace(listener, port=port)
    return config.with_static({"listeners": str(listener)})


@contextmanager
def _directory(options: argparse.Namespace) -> Iterator[Path | None]:
    """Yield the data directory of `--data-dir` or `--memory`; the directory of `--memory` is removed at the
    end.
    """
    if not options.memory:
        yield options.data_dir
        return
    from kcompat.cli.memory import memory_directory, new_directory

    with new_directory(memory_directory()) as directory:
        yield directory


def log_oddities(config: BrokerConfig) -> None:
    """Log which configured keys are unknown, and which have no effect."""
    if config.unknown_keys:
        logger.warning(
            "These configurations are not known and are ignored: %s",
            ", ".join(map(_with_meant_key, config.unknown_keys)),
        )
    if config.keys_of_absent_listeners:
        logger.warning(
            "These configurations have no effect, as `listeners` has no such listener "
            "(its name is in lower case in them): %s",
            ", ".join(config.keys_of_absent_listeners),
        )
    literal = sorted(name for name, text in config.static.items() if has_variable(text))
    if literal:
        logger.warning(
            "Variables in these configurations have no value and stay as they are, see config.providers: %s",
            ", ".join(literal),
        )
    for name in sorted(NEWER_KEYS.intersection(config.static)):
        logger.info("%s is accepted but has no effect: it is a key of a newer Kafka", name)
    for key in config.ineffective_keys:
        level = logging.WARNING if key.name in REPORTERS else logging.INFO
        logger.log(level, "%s is accepted but has no effect: %s", key.name, key.reason)


def _with_meant_key(name: str) -> str:
    meant = meant_key(name)
    return name if meant is None else f"{name} (did you mean {meant}?)"


async def _serve(
    config: BrokerConfig,
    brokers: int,
    zookeeper: tuple[str, int] | None,
    started: Callable[[str], Sequence[str]],
    users: Sequence[AddedUser],
    topics: Sequence[FirstTopic],
    control: ControlSettings | None,
) -> None:
    from kcompat.node.environment import real_environment

    async with AsyncExitStack() as undo:
        metrics = metrics_ports(os.environ, brokers)
        environment = with_metrics(replace(real_environment(), instrument=instruments(os.environ)), metrics)
        environment = with_request_logs(environment, os.environ)
        port = controlled = None
        if control is not None:
            controlled = BoundControl(control, environment, undo)
            environment = controlled.environment
        if zookeeper is not None:
            from kcompat.node.zookeeper_port import ZooKeeperPort

            port = ZooKeeperPort(*zookeeper)
            environment = port.serving(environment)
        if users:
            from kcompat.node.first_users import with_first_users

            environment = with_first_users(environment, users)
        over = asyncio.Event()
        with ended_by_signals(over):
            starting = asyncio.create_task(_start(brokers, config, environment, topics, undo))
            ending = asyncio.create_task(over.wait())
            await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.wait({starting})
                return
            node = await starting
            collect_less_often()
            if controlled is not None:
                controlled.start(node)
            announce(
                node.bootstrap_servers,
                node.served,
                config.log_dirs,
                None if port is None else (port.host, port.port),
                None if controlled is None else controlled.url,
                () if metrics is None else metrics.urls.values(),
                started(node.bootstrap_servers),
            )
            report_service(undo)
            undo.callback(asyncio.create_task(warn_of_unknown_names(node.served)).cancel)
            await ending


async def _start(
    brokers: int,
    config: BrokerConfig,
    environment: Environment,
    topics: Sequence[FirstTopic],
    undo: AsyncExitStack,
) -> BrokerNode | ClusterNodes:
    """Start a single broker, or a cluster of brokers, with `topics`; `undo` stops what was started."""
    if brokers > 1:
        nodes = await _start_many(brokers, config, environment, undo)
        await nodes.make_topics(topics)
        return nodes
    from kcompat.node.broker import BrokerNode

    node = BrokerNode(config, environment)
    undo.push_async_callback(node.stop)
    await node.start(topics)
    return node


async def _start_many(
    brokers: int, config: BrokerConfig, environment: Environment, undo: AsyncExitStack
) -> ClusterNodes:
    """Start a cluster of brokers in this process."""
    from kcompat.node.cluster import ClusterNodes
    from kcompat.node.spread import spread

    nodes = ClusterNodes(
        spread(config, brokers), environment.open_store(config, environment.clock), environment
    )
    undo.push_async_callback(nodes.close)
    await nodes.start()
    return nodes
