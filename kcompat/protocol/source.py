"""Python source under construction by the code generators: lines, indentation, names, `struct` calls."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Source:
    """A function body under construction, with the names it refers to."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = dict(names)
        self._lines: list[str] = []
        self._depth = 0
        self._serial = 0
        self._constants: dict[int, str] = {}

    def line(self, text: str) -> None:
        """Append one line at the present indentation."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a compound statement: `head` and the lines written inside the `with`."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return an unused local name."""
        self._serial += 1
        return f"{stem}{self._serial}"

    def constant(self, value: Any, stem: str) -> str:
        """Return the name under which the function can use `value`."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = self.fresh(stem)
            self.names[name] = value  # keeps a reference to the value, so that its id stays unique
        return name

    def codec(self, codes: str, method: str) -> tuple[str, int]:
        """Return the name of a big-endian `struct.Struct` method for `codes`, and the size in bytes."""
        name = f"{method}_{codes.replace('?', 'o')}"
        packer = struct.Struct(">" + codes)
        if name not in self.names:
            self.names[name] = getattr(packer, method)
        return name, packer.size

    def function(self, name: str) -> Any:
        """Compile the source and return its function `name`, which has the text as its `source`."""
        text = "\n".join(self._lines) + "\n"
        namespace = self.names
        exec(compile(text, f"<{name}>", "exec"), namespace)  # noqa: S102 - the source is from our declarations alone
        function = namespace[name]
        function.source = text
        return function


def literal(value: Any) -> str | None:
    """Return the source of a constant; None for a value that needs a name or a new object each time."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    return None
