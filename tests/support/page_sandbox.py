"""A directory in which the blocks of a scene run as they stand on their page, but for ports, paths and hosts.

`kcompat start` goes on running until the next `kcompat start` of the scene, or the scene's end, and then ends
by Ctrl-C. The output of a command is compared with what the page shows for it: ``...`` stands for any text,
an id of 22 characters for any such id, and lines may be wrapped in other places.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from threading import Timer
from typing import TYPE_CHECKING, Final, Self

from support.eventually import limit_s
from support.places import REPOSITORY
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from support.page_blocks import Block, Command, Scene

START_S: Final = 30
"""Seconds that a broker has to print what the page shows; all limits grow with the load of the machine."""
END_S: Final = 30
"""Seconds that a program has to end after Ctrl-C."""
LIMIT_S: Final = 110
"""Seconds that a command may take."""

_START = re.compile(r"(?:[A-Z_]+=\S* )*kcompat start\b")
_PORT_IS_SAID = re.compile(r"--port\b|\.properties\b|KAFKA_LISTENERS=")
_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")


class Sandbox:
    """Shared state of the blocks of one scene: a directory, ports, and the broker that was started last."""

    def __init__(
        self,
        root: Path,
        programs: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        start_s: float = START_S,
    ) -> None:
        """`programs` are shell scripts by the name under which blocks call them, beside `kcompat` and
        `python`; `variables` are environment variables of all programs. A broker has `start_s` seconds to
        print what the page shows.
        """
        self._start_s = start_s
        self._directory = root / "work"
        self._directory.mkdir()
        first = free_port(4)
        self._ports = {str(9092 + number): first + number for number in range(4)}
        self._ports |= {"2181": free_port(), "8082": free_port(), "19092": free_port()}
        self._paths = {"/var/lib/": f"{root}/var/lib/", "/home/you/": f"{self._directory}/"}
        self._paths |= {"zk1:": "127.0.0.1:"}
        (root / "var" / "lib").mkdir(parents=True)
        own = {
            "kcompat": f'exec "{sys.executable}" -m kcompat "$@"',
            "python": f'exec "{sys.executable}" "$@"',
            **(programs or {}),
        }
        tools = root / "bin"
        tools.mkdir()
        for name, script in own.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
        path = os.pathsep.join([str(tools), os.environ["PATH"]])
        modules = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        self._environment = {**clean, "HOME": str(self._directory), "PATH": path, "PYTHONPATH": modules}
        self._environment |= variables or {}
        self._broker: subprocess.Popen[str] | None = None

    def placed(self, text: str) -> str:
        """Return this text of a page with the ports, paths and hosts of the sandbox."""
        for name, path in self._paths.items():
            text = text.replace(name, path)
        ports = "|".join(self._ports)
        return re.sub(rf"(?<!\d)({ports})(?!\d)", lambda found: str(self._ports[found[0]]), text)

    def play(self, scene: Scene) -> None:
        """Run all blocks of a scene. AssertionError where one fails, or shows other output than the page."""
        for block in scene.blocks:
            if "file" in block.marks:
                (self._directory / block.marks["file"]).write_text(self.placed(block.text))
            elif block.language == "python":
                self._run_program(block)
            else:
                self._run_commands(block)

    def _run_commands(self, block: Block) -> None:
        code = int(block.marks.get("exit", 0))
        for command in block.commands:
            if _START.match(command.text) and code == 0:
                self._start(command)
            else:
                ended = self._popen(["sh", "-c", self.placed(command.text)])
                output, _ = ended.communicate(timeout=limit_s(LIMIT_S))
                self._judge(command, output, ended.returncode, code)

    def _start(self, command: Command) -> None:
        """Start a broker, and wait until it has printed what the page shows, or where it listens."""
        self._end_broker()
        text = self.placed(command.text)
        if not _PORT_IS_SAID.search(text):
            text += f" --port {self._ports['9092']}"
        # With exec, so that Ctrl-C goes to the broker and not to the shell.
        broker = self._broker = self._popen(["sh", "-c", text.replace("kcompat start", "exec kcompat start")])
        wanted = self._pattern(command.output or "... listening on ...")
        limit = Timer(limit_s(self._start_s), broker.kill)
        limit.start()
        output = read_until(broker, lambda so_far: wanted.fullmatch(" ".join(so_far.split())) is not None)
        limit.cancel()
        assert wanted.fullmatch(" ".join(output.split())), f"$ {text}\n{output}"

    def _run_program(self, block: Block) -> None:
        path = self._directory / f"block_{block.line}.py"
        path.write_text(self.placed(block.text))
        program = self._popen([sys.executable, str(path)])
        until = block.marks.get("until")
        try:
            if until is None:
                output, _ = program.communicate(timeout=limit_s(LIMIT_S))
                assert program.returncode == int(block.marks.get("exit", 0)), output
            else:
                output = read_until(program, lambda so_far: until in so_far)
                program.send_signal(signal.SIGINT)
                rest, _ = program.communicate(timeout=limit_s(END_S))
                assert until in output, output + rest
        finally:
            program.kill()

    def _judge(self, command: Command, output: str, code: int, wanted_code: int) -> None:
        assert code == wanted_code, f"$ {command.text}\n{output}\nexit code {code}"
        if command.output is not None:
            wanted = self._pattern(command.output)
            assert wanted.fullmatch(" ".join(output.split())), f"$ {command.text}\n{output}"

    def _pattern(self, shown: str) -> re.Pattern[str]:
        """Return a pattern for output that the page shows like this. In the output, all white space is one
        space.
        """
        text = _ID.sub("\0", " ".join(self.placed(shown).split()))
        pattern = re.escape(text).replace(re.escape("..."), ".*").replace(re.escape("\0"), r"[\w-]{22}")
        return re.compile(pattern, re.DOTALL)

    def _popen(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _end_broker(self) -> None:
        """End the running broker by Ctrl-C. AssertionError unless it ends with exit code 0."""
        broker, self._broker = self._broker, None
        if broker is not None:
            broker.send_signal(signal.SIGINT)
            try:
                output, _ = broker.communicate(timeout=limit_s(END_S))
            finally:
                broker.kill()
            assert broker.returncode == 0, output

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._end_broker()
        elif self._broker is not None:
            self._broker.kill()
            self._broker.communicate()


def read_until(process: subprocess.Popen[str], is_enough: Callable[[str], bool]) -> str:
    """Return what a process prints, by whole lines, until that is enough or the process closes its output."""
    assert process.stdout is not None
    output = ""
    while not is_enough(output):
        line = process.stdout.readline()
        if not line:
            break
        output += line
    return output
