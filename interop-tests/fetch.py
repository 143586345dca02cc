"""Fetch what the interop tests, the Spark examples and the demo need beside the Python packages of
pyproject.toml.

``python interop-tests/fetch.py [PART ...]`` fetches the named parts, or all of them, into a cache that the
clones on this machine share (`machine_cache.py`), and makes links to them in ``.cache/`` and ``.venvs/``. A
part that is there already, from the same inputs, costs nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import container_engine
from machine_cache import MachineCache, default_root, link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
CACHE = REPOSITORY / ".cache"
VENVS = REPOSITORY / ".venvs"
STAMPS = CACHE / "stamps"
SHARED = MachineCache(default_root())

KAFKA_VERSIONS = ("3.9.2", "4.3.0")
OLD_CLIENTS = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2")
"""Releases of the Java client; 0.8.2.2 comes with the consumer of the Scala days and has a pom of its own."""
STREAMS_VERSIONS: Mapping[str, str] = {"3.9.2": "7.9.2", "4.3.0": "10.1.3"}
"""Releases of Kafka Streams, each with that of its state store."""
NODE_PACKAGES = ("kafkajs@2.2.4", "snappyjs@0.7.0", "lz4js@0.2.0", "zstd-codec@0.1.5")
GO_DRIVERS = HERE / "drivers" / "go"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
KCOMPAT_AND_PYTEST = (
    *PROJECT["project"]["dependencies"],
    "pytest>=9,<10",
)
"""Packages that the broker of this clone and its fixtures need."""
VENV_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "kafka-python-2": ("kafka-python==2.0.2", "six", "python-snappy", "lz4", "zstandard", "xxhash", "crc32c"),
    "confluent-old": ("confluent-kafka==2.0.2",),
    "kio-old": ("kio==0.5.0",),
    "exporter": ("prometheus-kafka-consumer-group-exporter==0.5.5", "kafka-python==2.0.2", "six"),
    "faust": ("faust-streaming==0.15.3", *KCOMPAT_AND_PYTEST),
    "quixstreams": ("quixstreams==3.28.1", *KCOMPAT_AND_PYTEST),
    "release": tuple(PROJECT["dependency-groups"]["release"]),
}

SPARK_EXAMPLES = REPOSITORY / "spark-examples" / "spark_session.py"
SPARK_PROGRAM = """
import sys
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.jars.packages", sys.argv[1]).getOrCreate().stop()
"""


class MissingProgramError(Exception):
    """A program of the operating system is not there; the message says what to install."""


@dataclass(frozen=True)
class Part:
    """One thing to fetch: its name, what it is made from, and how."""

    name: str
    inputs: str
    fetch: Callable[[], None]
    place: Path | None = None
    """The path at which this clone finds the part; None for what is installed elsewhere on the machine."""
    is_optional: bool = False
    """Whether tests go on without the part where it cannot be fetched."""

    @property
    def stamp(self) -> Path:
        """The file that says the part is there; its content is a digest of the inputs."""
        return STAMPS / self.name

    def is_there(self) -> bool:
        """Whether this clone has the part, fetched from these inputs."""
        if self.place is not None and not self.place.exists():
            return False
        return self.stamp.is_file() and self.stamp.read_text() == _digest(self.inputs)

    def ensure(self) -> None:
        """Fetch the part unless it is there."""
        if self.is_there():
            print(f"{self.name}: there already")
            return
        started = time.monotonic()
        self.fetch()
        STAMPS.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(_digest(self.inputs))
        print(f"{self.name}: fetched in {time.monotonic() - started:.1f} s", flush=True)


def shared_part(name: str, inputs: str, place: Path, fill: Callable[[Path], None]) -> Part:
    """Return a part that is a directory of the machine's cache: `fill` fills it, and `place` in this clone is
    a link to it.
    """

    def fetch() -> None:
        link(place, SHARED.provide(name, _digest(inputs), fill))

    return Part(name, inputs, fetch, place)


def _digest(inputs: str) -> str:
    return hashlib.sha256(inputs.encode()).hexdigest()


def _program(name: str, debian_package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise MissingProgramError(
            f"{name} is not on the PATH: install it, for example with apt-get install {debian_package}"
        )
    return found


def _run(*command: str | Path, **variables: str) -> None:
    """Run a command, with these environment variables beside those of this process."""
    done = subprocess.run(
        [str(item) for item in command],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )


def _fetch_jars(pom: Path, options: tuple[str, ...], target: Path) -> None:
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={target}", "-DincludeScope=runtime")
    local = f"-Dmaven.repo.local={SHARED.maven_repository}"
    _run(_program("mvn", "maven"), "-q", "-B", local, "-f", pom, *goal, *options)


def _java_release() -> str:
    """Return what tells this Java from others: an archive is of use to the Java that made it."""
    launcher = shutil.which("java")
    release = Path(launcher or "").resolve().parents[1] / "release"
    return f"{launcher} {release.read_text() if release.is_file() else ''}"


def _archive_classes(version: str, target: Path) -> None:
    _program("java", "openjdk-17-jre-headless")
    from class_archives import archive_classes  # which needs kcompat and the tools of its tests

    archive_classes(version, target)


def _fetch_spark_home(connector: str, home: Path) -> None:
    """Have Spark fetch its connector by itself, with Ivy, for a user with this home directory."""
    _program("java", "openjdk-17-jre-headless")
    if importlib.util.find_spec("pyspark") is None:
        raise MissingProgramError("pyspark is not there: pip install pyspark==4.2.0")
    _run(sys.executable, "-c", SPARK_PROGRAM, connector, JAVA_TOOL_OPTIONS=f"-Duser.home={home}")


def _fetch_venv(packages: tuple[str, ...], home: Path) -> None:
    venv.EnvBuilder(with_pip=True, symlinks=True).create(home)
    _run(home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)


def _fetch_node(target: Path) -> None:
    npm = _program("npm", "npm")
    options = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
    _run(npm, "install", "--prefix", target, *options, *NODE_PACKAGES)


def _fetch_go(target: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise MissingProgramError(
            "go is not on the PATH: install Go 1.21 or later, which gets the Go that go.mod asks for"
        )
    _run(go, "-C", GO_DRIVERS, "vet", "./...")
    options = ("-buildvcs=false", "-ldflags=-s -w", "-o", f"{target}{os.sep}")
    _run(go, "-C", GO_DRIVERS, "build", *options, "./...")


def _fetch_kcat() -> None:
    if shutil.which("kcat") is not None:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingProgramError(
            "kcat is not on the PATH: install it, for example with apt-get install kcat as root"
        )
    _run("apt-get", "update", "-qq")
    _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "kcat")


def _fetch_container_image() -> None:
    """An engine, where root may install one, and the image: later builds take of it what has not changed."""
    if not container_engine.answers() and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        lacking = container_engine.lacking_packages()
        if lacking:
            _run("apt-get", "update", "-qq")
            _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *lacking)
    try:
        with container_engine.docker_engine() as is_ours:
            if is_ours:
                container_engine.make_bases()
            container_engine.build_image(is_ours=is_ours)
    except container_engine.NoEngineError as error:
        print(f"container-image: {error}")


def _jars(name: str, pom: Path, place: Path, *options: str) -> Part:
    return shared_part(name, pom.read_text() + "".join(options), place, partial(_fetch_jars, pom, options))


def parts() -> list[Part]:
    """Everything that can be fetched, in the order in which it is."""
    poms = HERE / "java"
    kafkas = [
        _jars(f"kafka-{v}", poms / f"kafka-{v}.xml", CACHE / f"kafka-{v}" / "libs") for v in KAFKA_VERSIONS
    ]
    archives = [
        replace(
            shared_part(
                f"classes-{v}",
                "".join(path.read_text() for path in (poms / f"kafka-{v}.xml", HERE / "class_archives.py"))
                + _java_release(),
                CACHE / f"kafka-{v}" / "classes",
                partial(_archive_classes, v),
            ),
            is_optional=True,
        )
        for v in KAFKA_VERSIONS
    ]
    old = [_jars("kafka-0.8.2.2", poms / "kafka-0.8.2.2.xml", CACHE / "kafka-0.8.2.2" / "libs")]
    old += [
        _jars(f"kafka-{v}", poms / "kafka-clients.xml", CACHE / f"kafka-{v}" / "libs", f"-Dkafka.version={v}")
        for v in OLD_CLIENTS
    ]
    streams = [
        _jars(
            f"kafka-streams-{kafka}",
            poms / "kafka-streams.xml",
            CACHE / f"kafka-streams-{kafka}" / "libs",
            f"-Dkafka.version={kafka}",
            f"-Drocksdb.version={rocksdb}",
        )
        for kafka, rocksdb in STREAMS_VERSIONS.items()
    ]
    connect = _jars("kafka-connect", poms / "kafka-connect.xml", CACHE / "kafka-connect" / "libs")
    jmx = _jars("jmx-exporter", poms / "jmx-exporter.xml", CACHE / "jmx-exporter" / "libs")
    flink = _jars("flink", poms / "flink.xml", CACHE / "flink" / "libs")
    (coordinates,) = re.findall('CONNECTOR = "(.+)"', SPARK_EXAMPLES.read_text())
    spark_home = replace(
        shared_part("spark-home", coordinates, CACHE / "spark-home", partial(_fetch_spark_home, coordinates)),
        is_optional=True,
    )
    modules = _jars("testcontainers", poms / "testcontainers.xml", CACHE / "testcontainers" / "libs")
    connector = _jars("spark-connector", poms / "spark.xml", CACHE / "spark")
    machine = f"{platform.system()} {platform.machine()}"
    python = f"{machine} {sys.base_prefix} {sys.version_info[:2]}"
    venvs = [
        shared_part(f"venv-{name}", f"{python} {packages}", VENVS / name, partial(_fetch_venv, packages))
        for name, packages in VENV_PACKAGES.items()
    ]
    node = shared_part("node", str(NODE_PACKAGES), CACHE / "node", _fetch_node)
    sources = [*sorted(GO_DRIVERS.glob("*/*.go")), GO_DRIVERS / "go.mod", GO_DRIVERS / "go.sum"]
    built_from = machine + "".join(path.read_text() for path in sources)
    go = shared_part("go", built_from, CACHE / "go", _fetch_go)
    kcat = Part("kcat", f"kcat {shutil.which('kcat')}", _fetch_kcat)
    made_from = [REPOSITORY / "image" / name for name in ("Dockerfile", "requirements.txt")]
    made_from.append(HERE / "container_engine.py")
    image = Part(
        "container-image",
        "".join(path.read_text() for path in made_from) + str(shutil.which("dockerd")),
        _fetch_container_image,
    )
    return [
        *kafkas,
        *archives,
        *old,
        *streams,
        connect,
        jmx,
        flink,
        modules,
        connector,
        spark_home,
        *venvs,
        node,
        go,
        kcat,
        image,
    ]


def main() -> int:
    """Fetch the parts named on the command line; the exit status is the number that could not be had."""
    known = parts()
    groups = {
        "jars": [part for part in known if part.name.startswith(("kafka-", "classes-"))],
        "all": known,
    } | {part.name: [part] for part in known}
    parser = argparse.ArgumentParser(description="Fetch the tools of the interop tests.")
    parser.add_argument(
        "part", nargs="*", default=["all"], help=f"one of: {', '.join(groups)} (default: all)"
    )
    wanted = parser.parse_args().part
    unknown = [name for name in wanted if name not in groups]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}")
    missing = 0
    for part in dict.fromkeys(part for name in wanted for part in groups[name]):
        try:
            part.ensure()
        except (MissingProgramError, RuntimeError) as error:
            missing += not part.is_optional
            print(f"{part.name}: {error}", file=sys.stderr)
    return missing


if __name__ == "__main__":
    sys.exit(main())
