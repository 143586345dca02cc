"""The control port of `kcompat start` and of the container image, opened if an option or a variable sets its
number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from kcompat.config.errors import ConfigError
from kcompat.config.listeners import MAX_PORT
from kcompat.errors import UsageError

if TYPE_CHECKING:
    import argparse
    import asyncio
    from collections.abc import Callable, Mapping
    from contextlib import AsyncExitStack

    from kcompat.instrumentation.control.port import ControlPort
    from kcompat.instrumentation.manual_time import ManualTime
    from kcompat.instrumentation.recording.recorder import Recorder
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.node.environment import Environment
    from kcompat.node.hooks import Hooks

LOOPBACK: Final = "127.0.0.1"
PORT_VARIABLE: Final = "KCOMPAT_CONTROL_PORT"
"""Environment variable of a container with the number of the control port, which is closed without it."""
CLOCK_VARIABLE: Final = "KCOMPAT_CLOCK"
"""Environment variable of a container with the kind of clock, `real` or `manual`."""


class ControlSettings(Struct, frozen=True):
    """The address of a control port, and the clock of its brokers."""

    host: str
    port: int
    has_manual_clock: bool = False

    @property
    def loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop] | None:
        """The factory of the event loop that the brokers need; None for any loop."""
        if not self.has_manual_clock:
            return None
        from kcompat.instrumentation.quiet_loop import QuietLoop

        return QuietLoop


def settings_of_options(options: argparse.Namespace) -> ControlSettings | None:
    """Return what the command line asks for. Raises UsageError for options that contradict each other."""
    is_manual = options.clock == "manual"
    if options.control_port is None:
        if is_manual:
            raise UsageError("--clock manual needs --control-port, by which the time is moved ahead")
        return None
    if options.processes:
        raise UsageError("--control-port is for brokers in one process: leave out --processes")
    return ControlSettings(LOOPBACK, options.control_port, is_manual)


def settings_of_variables(environment: Mapping[str, str]) -> ControlSettings | None:
    """Return what the variables of a container ask for: a port on every interface, since the engine decides
    who reaches it. Raises ConfigError.
    """
    text, clock = environment.get(PORT_VARIABLE), environment.get(CLOCK_VARIABLE) or "real"
    if clock not in ("real", "manual"):
        raise ConfigError(f"{CLOCK_VARIABLE}={clock} is no clock: use real or manual")
    if not text:
        if clock == "manual":
            raise ConfigError(f"{CLOCK_VARIABLE}=manual needs {PORT_VARIABLE}, to move the time ahead")
        return None
    if not text.isdecimal() or not 0 < int(text) <= MAX_PORT:
        raise ConfigError(f"{PORT_VARIABLE}={text} is not a port: use a number from 1 to {MAX_PORT}")
    return ControlSettings("", int(text), clock == "manual")


class BoundControl:
    """A bound control port, and the environment of the brokers that it will serve."""

    def __init__(self, settings: ControlSettings, environment: Environment, undo: AsyncExitStack) -> None:
        """Bind the port; `undo` closes it. Raises UsageError, ListenerError."""
        from kcompat.instrumentation.control.port import ControlPort
        from kcompat.instrumentation.disturbable_files import with_disturbable_files
        from kcompat.instrumentation.recording.recorder import Recorder

        self._time: ManualTime | None = None
        if settings.has_manual_clock:
            from kcompat.instrumentation.manual_time import ManualTime

            self._time = ManualTime(environment)
            environment = self._time.environment
        self._port: ControlPort = ControlPort(settings.port, settings.host)
        self._recorder = Recorder()
        self._undo = undo
        undo.callback(self._port.close)
        self.environment = with_disturbable_files(_recorded(environment, self._recorder))
        """The environment for the brokers."""
        self.url = self._port.url
        """The beginning of all URLs."""

    def start(self, node: BrokerNode | ClusterNodes) -> None:
        """Serve requests about running brokers until `undo` closes the port."""
        self._port.start(node, self._recorder, self._time)
        self._undo.push_async_callback(self._port.stop)


def _recorded(environment: Environment, recorder: Recorder) -> Environment:
    """Return the environment with recording of clients' requests added to its instruments."""

    def attach(broker: Hooks) -> None:
        environment.instrument(broker)
        recorder.attach(broker)

    return structs.replace(environment, instrument=attach)
