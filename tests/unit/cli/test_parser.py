"""The parser of the command line: help as wide as the terminal, and few imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kcompat.capabilities import native
from support.eventually import limit_s

COSTLY = {"shutil", "dataclasses", "tempfile", "encodings.idna"}
"""Modules that take some hundred kilobytes each and that a plain broker does not need."""
SCRIPT = f"""
import sys
from kcompat.cli.parser import build_parser
build_parser().parse_args(["start", "--port", "0"])
import kcompat.node.serving
from kcompat.net.sockets import bound
bound("127.0.0.1", 0).close()
print(*sorted({COSTLY!r} & set(sys.modules)))
"""


def said(*command: str, columns: int = 80) -> list[str]:
    """Return the lines that a Python with these arguments prints, on a terminal of this width."""
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=limit_s(60),
    )
    return done.stdout.splitlines()


def test_help_is_as_wide_as_the_terminal() -> None:
    wide, narrow = (said("-m", "kcompat", "start", "--help", columns=columns) for columns in (120, 80))
    assert 100 < max(map(len, wide)) <= 118
    assert len(wide) < len(narrow)


@pytest.mark.skipif(
    not native("kcompat.records._native"), reason="without extensions a library for checksums imports some"
)
def test_a_start_imports_no_costly_module_that_it_does_not_need() -> None:
    assert said("-c", SCRIPT) == [""]
