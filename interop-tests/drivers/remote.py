"""A driver in another process: one JSON object a line each way, so that the other side may be any
interpreter.

``python -m drivers.remote MODULE CLASS BOOTSTRAP`` is the Python side; `kafkajs.js` is the one for Node.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from drivers.base import Driver, DriverError, Record, by_name

HERE = Path(__file__).resolve().parent


def _pack(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Record):
        headers = [[name, _pack(content)] for name, content in value.headers]
        return {
            "value": _pack(value.value),
            "key": _pack(value.key),
            "headers": headers,
            "partition": value.partition,
            "offset": value.offset,
        }
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "headers" in value:
        headers = tuple((name, _unpack(content)) for name, content in value["headers"])
        content = {key: _unpack(value[key]) for key in ("value", "key", "partition", "offset")}
        return Record(headers=headers, **content)
    return value


class Remote:
    """The near end: looks like a `Driver`, asks the process at the far end.

    It is no `Driver` by inheritance: whatever operation is called is passed on by its name.
    """

    def __init__(self, command: Sequence[str | Path], null_header_values: bool = True) -> None:
        self.cannot: Mapping[str, str] = {}
        self.null_header_values = null_header_values
        self._process = subprocess.Popen(
            [str(item) for item in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=HERE.parent,
            text=True,
        )

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda *arguments: self._call(operation, arguments)

    def groups(self) -> list[str]:
        """Return the ids of the groups. Go writes null for a list that is empty."""
        return list(self._call("groups", ()) or ())

    def _call(self, operation: str, arguments: Sequence[Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([operation, _pack(arguments)]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the driver ended with status {self._process.wait(10)}"
        answer = json.loads(line)
        if "code" in answer:
            raise DriverError(answer["code"], answer["error"])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return _unpack(answer["result"])

    @property
    def is_running(self) -> bool:
        """Whether the far end has a process."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process without a word."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def close(self) -> None:
        """Close the far driver and end its process."""
        try:
            self._call("close", ())
        finally:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()


def in_its_own_process(
    module: str,
    driver: str,
    bootstrap: str,
    python: str | Path = sys.executable,
    null_header_values: bool = True,
) -> Remote:
    """A driver in a process of this Python or another: a fault of its library ends no test but the one that
    uses it, and shows where it was.
    """
    command = [python, "-X", "faulthandler", "-m", "drivers.remote", module, driver, bootstrap]
    return Remote(command, null_header_values)


def _answer(driver: Driver, operation: str, arguments: Sequence[Any]) -> dict[str, Any]:
    try:
        return {"result": _pack(getattr(driver, operation)(*arguments))}
    except DriverError as error:
        return {"code": error.code, "error": str(error)}
    except Exception as error:
        return {"error": repr(error)}


def main() -> None:
    """Serve one driver until standard input ends."""
    module, name, bootstrap = sys.argv[1:]
    driver = by_name(module, name)(bootstrap)
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        print(json.dumps(_answer(driver, operation, _unpack(arguments))), flush=True)


if __name__ == "__main__":
    main()
