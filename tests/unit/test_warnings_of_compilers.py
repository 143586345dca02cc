"""Compilers have no warnings about the extensions."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from hatch_build import OLDEST_ABI, WARNINGS

ROOT = Path(__file__).parents[2]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in Path(ROOT, "kcompat").rglob("*.c"))


def judge(compiler: str, source: str | Path) -> str:
    """Return the warnings of a compiler."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    headers = ["-I", str(ROOT), "-isystem", sysconfig.get_path("include")]
    command = [compiler, "-fsyntax-only", *WARNINGS, *headers, f"-DPy_LIMITED_API={OLDEST_ABI}", str(source)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_have_nothing_to_say(compiler: str, source: str) -> None:
    assert judge(compiler, source) == ""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_lossy_conversion_is_an_error(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "lossy.c"
    source.write_text("int lossy(long number);\nint lossy(long number) { return number; }\n")
    assert "error:" in judge(compiler, source)
