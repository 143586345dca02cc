"""An independent codec reads our bytes, and writes the same ones.

kio 0.6 knows the versions of Kafka 4 and 0.5 those of Kafka 3. They cannot be installed side by side, so
each runs in an interpreter of its own; that of the old one is `.venvs/kio-old` or what
KCOMPAT_KIO_OLD_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from support.codecs import CODECS
from support.fuzzing import examples
from support.messages import message_classes

from .strategies import messages

CLASSES = message_classes()
DRIVER = Path(__file__).with_name("kio_driver.py")
OLD_PYTHON = os.environ.get("KCOMPAT_KIO_OLD_PYTHON", Path(__file__).parents[3] / ".venvs/kio-old/bin/python")

RENAMED = {"ListClientMetricsResourcesRequest", "ListClientMetricsResourcesResponse"}
"""Names that Kafka has given up; the messages are there under their new ones."""

UNRELEASED = {("kio 0.5", "ReadShareGroupStateSummaryResponse", 0)}
"""Versions that changed on the wire before any release had them."""


class Kio:
    """One kio in a process of its own."""

    def __init__(self, name: str, python: str | os.PathLike[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self.entities = {(name, version) for name, version in json.loads(self._process.stdout.readline())}

    def convert(self, name: str, version: int, wire: bytes) -> dict[str, object]:
        print(json.dumps([name, version, wire.hex()]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture(
    scope="module", params=[("kio 0.6", sys.executable), ("kio 0.5", OLD_PYTHON)], ids=lambda kio: kio[0]
)
def kio(request):
    kio = Kio(*request.param)
    yield kio
    kio.close()


def test_kio_knows_nothing_that_we_do_not(kio):
    ours = {(cls.__name__, version) for cls in CLASSES for version in cls.versions}
    assert {entity for entity in kio.entities if entity[0] not in RENAMED} <= ours
    assert len(kio.entities) >= {"kio 0.6": 625, "kio 0.5": 666}[kio.name]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_parity(kio, cls):
    for version in cls.versions:
        if (cls.__name__, version) in kio.entities and (kio.name, cls.__name__, version) not in UNRELEASED:
            _check_version(kio, cls, version)


def _check_version(kio, cls, version):
    @settings(max_examples=examples(4), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages(cls, version, plain=True))
    def check(message):
        wire, *others = (b"".join(codec.compile_encoder(cls, version)(message)) for codec in CODECS)
        answer = kio.convert(cls.__name__, version, wire)
        assert answer == {"wire": wire.hex(), "read": len(wire)}
        assert all(other == wire for other in others)

    check()
