"""Measure what the pytest plugin costs: up to a first green test, at its first broker, and when unused.

    python bench/pytest_plugin.py [--wheel FILE] [--rounds 40] [--installs 3] [--instructions]

Without `--wheel` a wheel of this checkout is built first. "From nothing" begins in a new virtual environment:
pip installs the wheel, pytest and a client, and pytest runs one test with that client. "Unused" compares runs
of one empty test in turn: with the plugin, with `-p no:kcompat`, and in an environment that has the same
packages except kcompat. With `--instructions` valgrind counts the instructions of one run of each, which do
not differ where the machine is shared.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

ROOT = Path(__file__).resolve().parent.parent
COLLECTED = re.compile(r"Collected : (\d+)")
ORDERS = """
from kafka import KafkaProducer

def test_orders(kafka_broker, kafka_topic):
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)
    producer.send(kafka_topic, b"order").get()
"""
EMPTY = "def test_nothing():\n    pass\n"
DURATIONS = """
def pytest_runtest_logreport(report):
    if report.when == "setup":
        print(f"setup took {report.duration}")
"""
SETUP = re.compile(r"setup took ([\d.]+)")


class Environments:
    """Virtual environments under one directory, and runs of programs in them."""

    def __init__(self, home: Path, wheel: Path) -> None:
        self.home = home
        self._wheel = wheel

    def make(self, name: str) -> Path:
        """Return the Python of a new environment."""
        subprocess.run([sys.executable, "-m", "venv", str(self.home / name)], check=True)
        return self.home / name / "bin" / "python"

    def install(self, python: Path) -> None:
        """Install the wheel, pytest and a client."""
        self.run(python, "-m", "pip", "install", "-q", str(self._wheel), "pytest", "kafka-python")

    def run(self, *command: object) -> str:
        """Run a command in the directory of the tests; return its output."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [str(each) for each in command],
            cwd=self.home,
            env=environment | {"PYTHONHASHSEED": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"pytest_plugin: {command} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def seconds(self, *command: object) -> float:
        """Return the seconds that a command takes."""
        begin = time.perf_counter()
        self.run(*command)
        return time.perf_counter() - begin


def from_nothing(environments: Environments, number: int) -> Path:
    """Print how long it takes from a new environment to a green test; return its Python."""
    begin = time.perf_counter()
    python = environments.make(f"fresh-{number}")
    made = time.perf_counter()
    environments.install(python)
    installed = time.perf_counter()
    environments.run(python, "-m", "pytest", "-q", "test_orders.py")
    green = time.perf_counter()
    print(
        f"from nothing to a green test {green - made:.1f} s (wanted <= 15): "
        f"pip install {installed - made:.1f} s, pytest {green - installed:.1f} s; "
        f"python -m venv before that {made - begin:.1f} s",
        flush=True,
    )
    return python


def session_fixture(environments: Environments, python: Path, rounds: int) -> None:
    """Print how long the set-up of the first test with `kafka_broker` takes, imports included."""
    command = (python, "-m", "pytest", "-qs", "-p", "durations", "test_orders.py")
    taken = [float(SETUP.findall(environments.run(*command))[0]) for _ in range(rounds)]
    low, middle, high = quantiles(taken, n=4)
    print(
        f"session fixture up: median {middle:.3f} s, quartiles {low:.3f} and {high:.3f} (wanted <= 0.4)",
        flush=True,
    )


def unused(environments: Environments, python: Path, rounds: int, *, counts_instructions: bool) -> None:
    """Print what a run of an empty test takes, with the plugin and without."""
    without = environments.make("without")
    environments.install(without)
    environments.run(without, "-m", "pip", "uninstall", "-q", "-y", "kcompat")
    commands = {
        "with the plugin": (python, "-m", "pytest", "-q", "test_nothing.py"),
        "-p no:kcompat": (python, "-m", "pytest", "-q", "-p", "no:kcompat", "test_nothing.py"),
        "kcompat not installed": (without, "-m", "pytest", "-q", "test_nothing.py"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            seconds = environments.seconds(*command)
            if turn:  # the first compiles modules
                taken[name].append(seconds)
    for name, each in taken.items():
        print(f"{name:<22} {_in_ms(each)}, best {min(each) * 1e3:.1f}")
    for name in list(commands)[1:]:
        more = [a - b for a, b in zip(taken["with the plugin"], taken[name], strict=True)]
        print(f"more than {name}: {_in_ms(more)} (wanted <= 5)", flush=True)
    if counts_instructions:
        for name, command in commands.items():
            print(
                f"{name:<22} {_instructions(environments, command) / 1e6:.1f} million instructions",
                flush=True,
            )


def _in_ms(seconds: list[float]) -> str:
    low, middle, high = quantiles(seconds, n=4)
    return f"median {middle * 1e3:.1f} ms, quartiles {low * 1e3:.1f} and {high * 1e3:.1f}"


def _instructions(environments: Environments, command: tuple[object, ...]) -> int:
    counted = environments.run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command)
    return sum(int(each) for each in COLLECTED.findall(counted))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what the pytest plugin costs.")
    parser.add_argument("--wheel", type=Path, help="a wheel of kcompat; built of this checkout if not given")
    parser.add_argument("--rounds", type=int, default=40, help="runs of each kind")
    parser.add_argument("--installs", type=int, default=3, help="installations into new environments")
    parser.add_argument("--instructions", action="store_true", help="count instructions as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        home = Path(directory)
        wheel = options.wheel
        if wheel is None:
            build = [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "-q",
                "--no-deps",
                "--wheel-dir",
                directory,
                str(ROOT),
            ]
            subprocess.run(build, check=True)
            [wheel] = home.glob("*.whl")
        for name, text in (("test_orders", ORDERS), ("test_nothing", EMPTY), ("durations", DURATIONS)):
            (home / f"{name}.py").write_text(text)
        environments = Environments(home, wheel.absolute())
        python = [from_nothing(environments, number) for number in range(options.installs)][-1]
        session_fixture(environments, python, max(2, options.rounds // 4))
        unused(environments, python, options.rounds, counts_instructions=options.instructions)


if __name__ == "__main__":
    main()
