"""C extensions and system calls that a process uses."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from kcompat.capabilities import EXTENSIONS
from support.places import REPOSITORY

PAIRS = {
    "kcompat.group._native": ("kcompat.group.bulk", "fill", "kcompat.group.bulk"),
    "kcompat.log.cleaner._native": ("kcompat.log.cleaner.sieve", "keep", "kcompat.log.cleaner._python"),
    "kcompat.net._native": ("kcompat.net.epoll", "serve", "kcompat.net._python"),
    "kcompat.protocol._native": (
        "kcompat.protocol.compiling",
        "read_request_header",
        "kcompat.protocol.reading",
    ),
    "kcompat.records._conversion": (
        "kcompat.records.conversion",
        "write_records",
        "kcompat.records._conversion_python",
    ),
    "kcompat.records._native": ("kcompat.records.scanning", "scan", "kcompat.records._python"),
}
"""By extension: the module that chooses, one of its names, and the module of the pure-Python one."""

pairs = pytest.mark.parametrize("extension", PAIRS)


def run(code: str, **environment: str) -> str:
    """Return the output of a new process: the last line, or the last line of its error."""
    neutral = {"KCOMPAT_NATIVE": "", "KCOMPAT_PORTABLE": ""}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | neutral | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return (answer.stdout or answer.stderr).strip().splitlines()[-1]


def chosen(extension: str, wanted: str, *, missing: bool = False) -> str:
    """The module that does the work with KCOMPAT_NATIVE=`wanted`, without the extension if it is missing."""
    module, name, _ = PAIRS[extension]
    hide = f"import sys; sys.modules[{extension!r}] = None\n" if missing else ""
    code = f"{hide}import importlib\nprint(importlib.import_module({module!r}).{name}.__module__)"
    return run(code, KCOMPAT_NATIVE=wanted)


@pairs
def test_without_an_extension_the_python_implementation_does_the_work(extension: str) -> None:
    python = PAIRS[extension][2]
    assert chosen(extension, "0") == python
    assert chosen(extension, "", missing=True) == python


@pairs
def test_an_extension_that_is_demanded_and_missing_is_an_error(extension: str) -> None:
    complaint = chosen(extension, "1", missing=True)
    assert extension in complaint
    assert "Error" in complaint


@pairs
def test_an_extension_is_used_where_it_was_built(extension: str) -> None:
    try:
        importlib.import_module(extension)
    except ImportError:
        pytest.skip("the extension was not built")
    assert chosen(extension, "") == extension
    assert chosen(extension, "1") == extension


def test_the_extensions_are_the_c_files_of_the_package() -> None:
    sources = (path.relative_to(REPOSITORY) for path in (REPOSITORY / "kcompat").rglob("*.c"))
    assert sorted(".".join(source.with_suffix("").parts) for source in sources) == list(EXTENSIONS)
    assert set(EXTENSIONS) == PAIRS.keys()


HAS = "import os\nfrom kcompat.capabilities import has\nprint(has(os, 'getpid'), has(os, 'no_such_call'))"


def test_what_this_system_has_is_used_unless_only_what_is_everywhere_may_be() -> None:
    assert run(HAS) == "True False"
    assert run(HAS, KCOMPAT_PORTABLE="0") == "True False"
    assert run(HAS, KCOMPAT_PORTABLE="1") == "False False"
