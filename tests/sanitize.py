"""The C extensions, tested under AddressSanitizer and UndefinedBehaviorSanitizer: `make sanitize`.

    python tests/sanitize.py [--brief | TEST ...]

The tests import a copy of the package whose extensions check every access to memory and all arithmetic; the
first fault ends the process with a report. What Python allocates comes from malloc, so that the sanitizer
knows where each buffer ends. Needs gcc, libasan and libubsan. KCOMPAT_FUZZ says how much is tried: see
`support.fuzzing`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from hatch_build import compile_extensions, place  # noqa: E402 - found by the line above

FLAGS = (
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-fno-wrapv",  # Python has it set; here an overflow is a fault
    "-O1",
    "-g",
)
PROPERTIES = (
    "tests/property/test_cut_short.py",
    "tests/property/test_scanning.py",
    "tests/property/test_conversion.py",
    "tests/property/test_cleaner_native.py",
    "tests/property/test_loading_offsets.py",
    "tests/property/protocol/test_single_batches.py",
)
CODECS = "tests/property/protocol/test_codecs_agree.py"
BRIEF = (
    *PROPERTIES,
    f"{CODECS}::test_both_codecs_agree[ProduceRequest]",
    f"{CODECS}::test_both_codecs_agree[FetchResponse]",
    f"{CODECS}::test_both_read_headers_alike",
    "tests/unit/net",
)
"""Every function of every extension, with a third of the examples: in less than a minute, for each change."""
ALL = (
    *PROPERTIES,
    CODECS,
    "tests/unit/records",
    "tests/unit/protocol",
    "tests/unit/log/cleaner",
    "tests/unit/net",
    "tests/wire/test_net_framing.py",
    "tests/wire/test_net_placing.py",
    "tests/wire/test_net_sending.py",
)
IMPORTED = "import sys, importlib\nfor name in sys.argv[1:]: print(importlib.import_module(name).__file__)"


def main(arguments: list[str]) -> int:
    """The exit code of pytest."""
    is_brief = arguments == ["--brief"]
    tests = BRIEF if is_brief else arguments or ALL
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "copy")
        shutil.copytree(
            ROOT / "kcompat", copy / "kcompat", ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
        built = compile_extensions(ROOT, scratch, True, FLAGS)
        for target, file in built.items():
            place(file, copy / target)
        environment = sanitized(copy)
        if is_brief:
            environment["KCOMPAT_FUZZ"] = "0.3"
        check_imported(list(built), environment, copy)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys", *tests]
        return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def sanitized(copy: Path) -> dict[str, str]:
    """The environment of a process that uses the copy, and has the sanitizers before anything else."""
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
        for name in ("libasan.so", "libubsan.so")
    ]
    return os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONSAFEPATH": "1",  # the current directory has the package too
        "PYTHONMALLOC": "malloc",
        "KCOMPAT_NATIVE": "1",
        "LD_PRELOAD": ":".join(library.strip() for library in libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself lets much go only with its process
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def check_imported(targets: list[str], environment: dict[str, str], copy: Path) -> None:
    """See that what is imported is what was built."""
    names = [target.partition(".")[0].replace("/", ".") for target in targets]
    command = [sys.executable, "-c", IMPORTED, *names]
    files = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert files == [str(copy / target) for target in targets], files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
