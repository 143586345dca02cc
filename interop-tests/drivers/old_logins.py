"""Older clients that log in and list the topics: Java clients of former releases, and Python libraries in
virtual environments of their own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificates

from commands import QUICK_JVM, compile_java, run
from drivers.logins import LoginFailedError, MissingError
from drivers.remote import HERE
from kcompat.security.client_settings import SETTINGS
from real_kafka import properties_text
from support.eventually import limit_s
from support.places import CACHE, REPOSITORY, VENVS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.client_settings import ClientAccess

    ListTopics = Callable[[ClientAccess], list[str]]

JAVA: Final = ("0.10.2.2", "1.1.1", "2.8.2")
"""Releases: the first with SCRAM, whose tokens have no header; the first line with SaslAuthenticate; and a
later one.
"""
STORE_PASSWORD: Final = "opensesame"
REQUEST_S: Final = 4
"""Seconds after which a Java client gives up; releases before 1.0 are not told that a login is refused."""
PROGRAMS: Final = ("Topics", "DatatypeConverter")
SOURCES: Final = REPOSITORY / "interop-tests" / "java"


def old_java(release: str, directory: Path) -> ListTopics:
    """Return the function that lists the topics with a release, whose program is compiled into `directory`.

    Raises:
        MissingError: this machine lacks what it needs.
    """
    libs = CACHE / f"kafka-{release}" / "libs"
    if shutil.which("javac") is None or not libs.is_dir():
        raise MissingError("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    compile_java(f"{libs}/*", directory, *(SOURCES / "old" / f"{name}.java" for name in PROGRAMS))
    command = [*QUICK_JVM, "-cp", f"{directory}:{libs}/*:{SOURCES}/conf", "Topics"]

    def topics(access: ClientAccess) -> list[str]:
        settings = SETTINGS["java"](access) | _pkcs12_stores(access, directory)
        request_ms = round(limit_s(REQUEST_S) * 1000)
        settings |= {
            "request.timeout.ms": request_ms,
            "default.api.timeout.ms": request_ms,
            "session.timeout.ms": 2000,
            "heartbeat.interval.ms": 500,
        }
        done = subprocess.run(
            command,
            input=properties_text(settings),
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s(60),
        )
        if done.returncode:
            raise LoginFailedError(done.stdout + done.stderr)
        return done.stdout.split()

    return topics


def _pkcs12_stores(access: ClientAccess, directory: Path) -> dict[str, object]:
    """Return the settings of stores with the certificates of `access`, which are made in `directory`."""
    settings: dict[str, object] = {}
    if access.ca_file is not None:
        trust = directory / "trust.p12"
        trust.unlink(missing_ok=True)
        words = ["-importcert", "-noprompt", "-alias", "ca", "-file", access.ca_file, "-keystore", trust]
        run(["keytool", *words, "-storetype", "PKCS12", "-storepass", STORE_PASSWORD])
        settings |= {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(trust),
            "ssl.truststore.password": STORE_PASSWORD,
        }
    if access.certificate_file is not None:
        own = directory / "own.p12"
        own.write_bytes(_as_pkcs12(access.certificate_file))
        settings |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(own),
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.key.password": STORE_PASSWORD,
        }
    return settings


def _as_pkcs12(pem_file: str) -> bytes:
    pem = Path(pem_file).read_bytes()
    first, *others = load_pem_x509_certificates(pem)
    secrecy = BestAvailableEncryption(STORE_PASSWORD.encode())
    return pkcs12.serialize_key_and_certificates(
        b"own", load_pem_private_key(pem, None), first, others, secrecy
    )  # type: ignore[arg-type]


def kafka_python_2(access: ClientAccess) -> list[str]:
    """List the topics with kafka-python 2.0.2."""
    settings = SETTINGS["kafka-python"](access) | {"api_version_auto_timeout_ms": round(limit_s(3) * 1000)}
    return _in_venv("kafka-python-2", "kafka_python", settings)


def confluent_2(access: ClientAccess) -> list[str]:
    """List the topics with confluent-kafka 2.0.2."""
    return _in_venv("confluent-old", "confluent", SETTINGS["confluent"](access) | {"patience": limit_s(3)})


def _in_venv(venv: str, library: str, settings: dict[str, object]) -> list[str]:
    python = VENVS / venv / "bin" / "python"
    if not python.exists():
        raise MissingError(
            f"{venv} is not there: run python interop-tests/fetch.py venv-{venv} to install it"
        )
    command = [str(python), str(HERE / "venv_login.py"), library, json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit_s(60))
    answer = json.loads(done.stdout.splitlines()[-1])
    if "error" in answer:
        raise LoginFailedError(answer["error"] + done.stderr)
    topics: list[str] = answer["topics"]
    return topics
