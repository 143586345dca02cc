"""The code blocks of the pages that need client libraries or Java; tests/wire/test_pages.py runs the rest."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from pathlib import Path

import pytest

from drivers.remote import HERE
from support.kafka_jars import QUICK, jvm
from support.page_blocks import OURS, Scene, pages, scenes
from support.page_sandbox import Sandbox
from support.places import CACHE, VENVS
from tool_bench import CLASSES

SHELL = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
SCRIPTS = {
    "kafka-topics": ("3.9.2", CLASSES["topics"]),
    "kafka-configs": ("4.3.0", CLASSES["configs"]),
    "kafka-acls": ("3.9.2", "kafka.admin.AclCommand"),
    "kafka-console-consumer": ("3.9.2", CLASSES["console-consumer"]),
    "zookeeper-shell": ("3.9.2", f"{SHELL} -server"),
}
"""The release and the main class of each of Kafka's scripts that pages call."""


def needs_spark(scene: Scene) -> bool:
    return any("pyspark" in block.needs for block in scene.blocks)


SCENES = [scene for page in pages() for scene in scenes(page) if scene.needs_clients]

PLAIN = "-W ignore -p no:randomly -p kcompat.testing"
"""Options of a pytest that has kcompat's plugin, runs tests in their order, and shows no warnings of client
libraries.
"""
IN_VENVS = ("faust", "quixstreams")
"""Packages with a virtual environment of their own, since they need other versions of client libraries."""
SPARK_DEFAULTS = "spark.ui.enabled false\nspark.sql.shuffle.partitions 2\nspark.driver.host 127.0.0.1\n"

pytestmark = pytest.mark.timeout(240)


def scripts() -> dict[str, str]:
    """Return Kafka's scripts, each under both of its names, with the jars that were fetched."""

    def java(release: str, main: str) -> str:
        return f'exec {shlex.join(jvm(release))} {main} "$@"'

    found = {name: java(release, main) for name, (release, main) in SCRIPTS.items()}
    return found | {f"{name}.sh": script for name, script in found.items()}


def languages() -> dict[str, str]:
    """Return the programs that run the files of other languages, with the client libraries that were fetched.

    In Go, the files of a page are a module that needs what the drivers of the tests need.
    """
    go = shutil.which("go") or "go"
    modules = {"HOME": str(Path.home()), "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    module = "".join(f"cp {shlex.quote(str(HERE / 'go' / name))} . && " for name in ("go.mod", "go.sum"))
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in modules.items())
    java = shlex.join([*QUICK, "-cp", f"{CACHE}/kafka-3.9.2/libs/*"])
    return {
        "go": f'{module}{settings} exec {go} "$@"',
        "java": f'exec {shutil.which("java")} {java} "$@"',
        "node": f'NODE_PATH="{CACHE}/node/node_modules" exec {shutil.which("node")} "$@"',
    }


def spark_variables(home: Path) -> dict[str, str]:
    """Return environment variables for a Spark whose user has `home`, with what Spark has fetched before."""
    fetched = CACHE / "spark-home"
    if not fetched.is_dir():
        pytest.skip("install pyspark and a Java 17 runtime and run python interop-tests/fetch.py spark-home")
    shutil.copytree(fetched, home)
    (home / "conf").mkdir()
    (home / "conf" / "spark-defaults.conf").write_text(SPARK_DEFAULTS)
    options = " ".join((*QUICK, f"-Duser.home={home}"))
    return {
        "JAVA_TOOL_OPTIONS": options,
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def python_of(package: str) -> Path:
    """Return the Python of the virtual environment of a package."""
    python = VENVS / package / "bin" / "python"
    if not python.exists():
        pytest.skip(f"run python interop-tests/fetch.py venv-{package}")
    return python


FIRST_RECIPES = ("test-with-kafka-python.md", "test-with-java.md")
WITH_SPARK = pytest.mark.thorough("test_demo.py and test_spark.py run the same programs")


RECIPE = pytest.mark.thorough("the recipes for kafka-python and Java are of the same form")


def marks(scene: Scene) -> tuple[pytest.MarkDecorator, ...]:
    if needs_spark(scene):
        return (WITH_SPARK,)
    is_like_another = scene.page.parent.name == "recipes" and scene.page.name not in FIRST_RECIPES
    return (RECIPE,) if is_like_another else ()


@pytest.mark.parametrize("scene", [pytest.param(each, marks=marks(each)) for each in SCENES], ids=str)
def test_blocks_do_what_the_page_says(scene: Scene, tmp_path: Path) -> None:
    programs = {"pytest": f'exec python -W ignore -m pytest {PLAIN} "$@"'}
    needs = scene.needs
    for name in needs.intersection(IN_VENVS):
        programs["python"] = f'exec {python_of(name)} "$@"'
        needs = set()
    if any(name.startswith(("kafka-", "zookeeper-")) for name in needs):
        jars = [CACHE / f"kafka-{release}" / "libs" for release, _ in SCRIPTS.values()]
        if shutil.which("java") is None or not all(map(Path.is_dir, jars)):
            pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
        programs |= scripts()
    for name, script in languages().items():
        if name in needs and shutil.which(name) is not None:
            programs[name] = script
    for name in needs - OURS - programs.keys():
        if shutil.which(name) is None and importlib.util.find_spec(name) is None:
            pytest.skip(f"this machine has no {name}")
    variables = spark_variables(tmp_path / "home") if "pyspark" in needs else {}
    with Sandbox(tmp_path, programs, variables) as sandbox:
        sandbox.play(scene)
