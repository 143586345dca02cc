"""A Docker engine for the tests of the container image, and the image built with it.

An engine that answers is taken, with its registries for the base of the image. Elsewhere root starts Debian's
``dockerd``, with its data in ``.cache/engine``, and the bases are made of the Debian that it runs on.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hosts import are_possible, claim_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY: Final = Path(__file__).resolve().parents[1]
CACHE: Final = REPOSITORY / ".cache"

IMAGE: Final = "kcompat-test:7.6.0"
"""With a tag that Testcontainers' module takes for a Confluent platform with KRaft."""

DATA: Final = CACHE / "engine"
BASE: Final = "kcompat-base:slim"
BUILD_BASE: Final = "kcompat-base:build"
BUILD_PACKAGES: Final = ("gcc", "libc6-dev", "python3-dev", "python3-pip", "python3-venv")
AUTHORITIES: Final = "/etc/registries.crt"
"""In the base for building: who vouches for the package registry."""

FOR_PEOPLE: Final = tuple(f"/usr/share/{name}/" for name in ("doc", "info", "locale", "man"))

START_S: Final = 60.0
END_S: Final = 60.0


class NoEngineError(Exception):
    """No Docker engine can be had here; the message says why."""


@contextmanager
def docker_engine() -> Iterator[bool]:
    """An engine that the variables of this process name; whether it is one of our own.

    Raises:
        NoEngineError: there is none.
    """
    if answers():
        yield False
        return
    if not are_possible() or shutil.which("dockerd") is None:
        raise NoEngineError(
            "install a Docker engine that this user may use, or docker.io and iproute2 for root"
        )
    DATA.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("DOCKER_HOST")
    # The path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="engine-") as directory, _bridge() as bridge:
        host = f"unix://{directory}/docker.sock"
        places = ("--data-root", str(DATA.resolve()), "--exec-root", f"{directory}/exec", "--bridge", bridge)
        # A firewall would stand between other hosts of this machine. Published ports need none.
        modesty = ("--iptables=false", "--ip6tables=false", "--ip-forward=false")
        command = ["dockerd", *places, *modesty, "--pidfile", f"{directory}/pid", "-H", host]
        log = Path(directory, "log")
        with log.open("wb") as output:
            engine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            os.environ["DOCKER_HOST"] = host
            _await(engine, log)
            yield True
        finally:
            _end(engine)
            _try("umount", f"{directory}/exec/netns/default")  # which dockerd does not take away
            del os.environ["DOCKER_HOST"]
            if before is not None:
                os.environ["DOCKER_HOST"] = before


@contextmanager
def _bridge() -> Iterator[str]:
    """The bridge that the containers are at; Docker's own would be that of all engines of this machine."""
    number, claim = claim_number()
    name = f"kcompat-box{number}"
    with closing(claim):
        _try("ip", "link", "delete", name)  # what a test that was killed has left
        try:
            _lay(name, f"10.79.{number}.1/24")
            yield name
        finally:
            _try("ip", "link", "delete", name)


def _lay(bridge: str, address: str) -> None:
    try:
        _output("ip", "link", "add", bridge, "type", "bridge", timeout_s=60)
        _output("ip", "address", "add", address, "dev", bridge, timeout_s=60)
        _output("ip", "link", "set", bridge, "up", timeout_s=60)
    except RuntimeError as error:  # root in a container of others has not all of root's rights
        said = str(error).strip().splitlines()[-1]
        raise NoEngineError(f"containers cannot have a network here: {said}") from error


def _end(engine: subprocess.Popen[bytes]) -> None:
    engine.send_signal(signal.SIGTERM)
    try:
        engine.wait(END_S)
    except subprocess.TimeoutExpired:
        engine.kill()
        engine.wait()


def _try(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=False)


def answers() -> bool:
    """Whether there is an engine that this user may use."""
    if shutil.which("docker") is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        return (
            subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False).returncode == 0
        )
    return False


def _await(engine: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not answers():
        if engine.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace").strip().splitlines()
            raise NoEngineError(f"dockerd does not run here: {said[-1] if said else 'it says nothing'}")
        time.sleep(0.1)


def docker(*arguments: str | Path, timeout_s: float = 60) -> str:
    """Return the output of a Docker command; fail unless it succeeds."""
    return _output("docker", *map(str, arguments), timeout_s=timeout_s)


def _output(*command: str, timeout_s: float) -> str:
    done = subprocess.run(
        command,
        env=os.environ | {"DOCKER_BUILDKIT": "0"},  # what every client can do
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise RuntimeError(f"{' '.join(command[:2])} failed:\n{said}")
    return done.stdout


def compose_command() -> list[str] | None:
    """Return the command of Compose, a plugin of Docker or a program of its own; None without it."""
    if shutil.which("docker") is not None:
        asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        if asked.returncode == 0:
            return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") is not None else None


def lacking_packages() -> list[str]:
    """Which of Debian's packages an engine of our own and Compose would need, and are not installed."""
    needed = {"docker.io", "iproute2", *BUILD_PACKAGES}
    if compose_command() is None:
        needed.add("docker-compose")
    return sorted(needed - _installed().keys())


def make_bases() -> None:
    """Give the engine that runs what the Dockerfile takes as its bases: files of Debian's packages that this
    machine has, with all that those depend on. To fetch and install the same anew takes minutes.
    """
    essential = [name for name, is_essential in _installed().items() if is_essential]
    masters = Path("/usr/share/base-passwd")
    made = {f"/etc/{name}": (masters / f"{name}.master").read_bytes() for name in ("passwd", "group")}
    made["/etc/nsswitch.conf"] = b"hosts: files dns\n"  # the name of a container is in its files
    _import(BASE, [*essential, "python3"], made)
    _import(BUILD_BASE, [*essential, *BUILD_PACKAGES], made | _trust())


def _trust() -> dict[str, bytes]:
    """Files that have pip trust whom it trusts on this machine, where a variable says so."""
    if "PIP_CERT" not in os.environ:
        return {}
    authorities = Path(os.environ["PIP_CERT"]).read_bytes()
    return {AUTHORITIES: authorities, "/etc/pip.conf": f"[global]\ncert = {AUTHORITIES}\n".encode()}


def _import(name: str, packages: Sequence[str], more: Mapping[str, bytes]) -> None:
    """Make an image of the packages' files and of `more`, by the path in the image."""
    with tempfile.TemporaryDirectory(prefix="base-") as directory:
        archive = Path(directory, "base.tar")
        with tarfile.open(archive, "w") as tar:
            for path in sorted(_files_of(packages)):
                tar.add(path, recursive=False)
            for path, content in more.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        docker("import", archive, name, timeout_s=300)


def _installed() -> dict[str, bool]:
    """Debian's packages on this machine by name, and whether they are essential."""
    form = "${db:Status-Status} ${Essential} ${Package}\n"
    words = [line.split() for line in _output("dpkg-query", "-W", "-f", form, timeout_s=60).splitlines()]
    return {line[-1]: "yes" in line[:-1] for line in words if line[0] == "installed"}


def _files_of(packages: Sequence[str]) -> set[str]:
    """Where the files are that the packages, and those they depend on, have put on this machine."""
    kinds = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    options = ("--recurse", "--installed", *(f"--no-{kind}" for kind in kinds))
    names = _output("apt-cache", "depends", *options, *packages, timeout_s=60).splitlines()
    needed = _installed().keys() & set(names)
    listed = _output("dpkg-query", "-L", *needed, timeout_s=60).splitlines()
    # What is listed below /bin is below /usr/bin, to which /bin leads.
    real = (f"{os.path.realpath(Path(path).parent)}/{Path(path).name}" for path in listed if path[:1] == "/")
    found = {path.replace("//", "/") for path in real if not path.startswith(FOR_PEOPLE)}
    return {path for path in found if path != "/" and os.path.lexists(path)}


def build_image(*, is_ours: bool) -> None:
    """Build the image of this clone; `is_ours` is what `docker_engine` said.

    Raises:
        NoEngineError: the engine is ours, and has no bases yet.
    """
    options: tuple[str, ...] = ()
    if is_ours:
        if not docker("images", "-q", BUILD_BASE):
            raise NoEngineError("install the bases: python interop-tests/fetch.py container-image")
        arguments = [f"BASE={BASE}", f"BUILD_BASE={BUILD_BASE}", "BUILD_PACKAGES="]
        options = ("--network=host", *(f"--build-arg={argument}" for argument in arguments))
    place = ("-t", IMAGE, "-f", REPOSITORY / "image" / "Dockerfile", REPOSITORY)
    docker("build", *options, *place, timeout_s=900)
