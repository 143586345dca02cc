"""Clients of each family that log in and list the topics.

The password of a login by OAUTHBEARER is the token.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

from drivers.remote import HERE
from kcompat.security.client_settings import SETTINGS
from support.eventually import Patience, limit_s
from support.places import CACHE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.security.client_settings import ClientAccess

PATIENCE_S = 20
PAUSE_S = 0.2


class LoginFailedError(Exception):
    """Error of a client that could not log in; the message is what the client or its log says."""


class MissingError(Exception):
    """Error of a client that this machine does not have; the message says what to install."""


def has_token(access: ClientAccess) -> bool:
    """Return whether the client logs in with a token."""
    return access.login is not None and access.login.mechanism == "OAUTHBEARER"


def again(list_topics: Callable[[], Sequence[str]], seconds: float) -> list[str]:
    """List the topics, and list them again and again for so many seconds."""
    end = time.monotonic() + seconds
    topics = list(list_topics())
    while time.monotonic() < end:
        time.sleep(PAUSE_S)
        topics = list(list_topics())
    return topics


def kafka_python(access: ClientAccess, seconds: float = 0) -> list[str]:
    """List the topics with kafka-python 3, whose log alone tells why a login is refused."""
    import kafka.admin
    from kafka.net.sasl.oauth import AbstractTokenProvider

    settings: dict[str, Any] = SETTINGS["kafka-python"](access)
    if has_token(access):

        class Provider(AbstractTokenProvider):  # type: ignore[misc]
            def token(self) -> str:
                token: str = settings["sasl_plain_password"]
                return token

        settings["sasl_oauth_token_provider"] = Provider()
    with _Heard("kafka") as heard:
        try:
            client = kafka.admin.KafkaAdminClient(**settings, bootstrap_timeout_ms=round(limit_s(1) * 1000))
        except Exception as error:
            raise LoginFailedError(f"{error!r} {heard.text}") from error
        try:
            return again(client.list_topics, seconds)
        finally:
            client.close()


def aiokafka(access: ClientAccess) -> list[str]:
    """List the topics with aiokafka, whose log alone tells why a login is refused."""
    import aiokafka.abc
    import aiokafka.admin

    class Provider(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return "" if access.login is None else access.login.password

    async def topics() -> list[str]:
        settings: dict[str, Any] = SETTINGS["aiokafka"](access)
        if has_token(access):
            settings["sasl_oauth_token_provider"] = Provider()
        client = aiokafka.admin.AIOKafkaAdminClient(**settings)
        try:
            await client.start()
            return list(await client.list_topics())
        finally:
            await client.close()

    with _Heard("aiokafka") as heard:
        try:
            return asyncio.run(topics())
        except Exception as error:
            raise LoginFailedError(f"{error!r} {heard.text}") from error


def confluent(access: ClientAccess, seconds: float = 0) -> list[str]:
    """List the topics with confluent-kafka (librdkafka)."""
    import confluent_kafka.admin

    errors: list[Any] = []
    settings = SETTINGS["confluent"](access) | {"error_cb": errors.append}
    if has_token(access):
        settings["oauth_cb"] = lambda _: (settings["sasl.password"], time.time() + 3600)
    client: Any = confluent_kafka.admin.AdminClient(settings)
    client.poll(0)  # which calls for the token
    patience = Patience(PATIENCE_S)
    while True:
        try:
            client.list_topics(timeout=0.2)
            return again(lambda: client.list_topics(timeout=limit_s(5)).topics, seconds)
        except confluent_kafka.KafkaException as error:
            client.poll(0)
            if errors or not patience.lasts:
                said = [error.args[0], *errors]
                raise LoginFailedError(" ".join(f"{each.name()} {each.str()}" for each in said)) from error


def kcat(access: ClientAccess) -> list[str]:
    """List the topics with kcat (librdkafka)."""
    if shutil.which("kcat") is None:
        raise MissingError("install kcat")
    settings = SETTINGS["confluent"](access).items()
    options = [item for name, value in settings for item in ("-X", f"{name}={value}")]
    listed = json.loads(_run(["kcat", "-L", "-J", "-m", str(round(limit_s(1))), *options]))
    return [topic["topic"] for topic in listed["topics"]]


def kafkajs(access: ClientAccess) -> list[str]:
    """List the topics with kafkajs."""
    if shutil.which("node") is None or not (CACHE / "node" / "node_modules" / "kafkajs").is_dir():
        raise MissingError("install Node and run python interop-tests/fetch.py node")
    return _answer(["node", str(HERE / "login.js"), _as_json(access)])


def go(library: str) -> Callable[[ClientAccess], list[str]]:
    """Return the function that lists the topics with a Go library."""

    def topics(access: ClientAccess) -> list[str]:
        program = CACHE / "go" / "login"
        if not program.is_file():
            raise MissingError("install Go and run python interop-tests/fetch.py go")
        return _answer([str(program), library, _as_json(access)])

    return topics


def _as_json(access: ClientAccess) -> str:
    settings = {"bootstrap": access.bootstrap_servers, "protocol": access.protocol}
    if access.ca_file is not None:
        settings["ca_file"] = access.ca_file
    if access.certificate_file is not None:
        settings["certificate_file"] = access.certificate_file
    if access.login is not None:
        settings |= {
            "mechanism": access.login.mechanism,
            "user": access.login.user,
            "password": access.login.password,
        }
    return json.dumps(settings)


def _answer(command: Sequence[str]) -> list[str]:
    answer = json.loads(_run(command).splitlines()[-1])
    if "error" in answer:
        raise LoginFailedError(answer["error"])
    topics: list[str] = answer["topics"] or []
    return topics


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=limit_s(2 * PATIENCE_S)
    )
    if done.returncode:
        raise LoginFailedError(done.stdout + done.stderr)
    return done.stdout


class _Heard(logging.Handler):
    """The messages that a library logs meanwhile."""

    def __init__(self, library: str) -> None:
        super().__init__()
        self._logger = logging.getLogger(library)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += f"{record.getMessage()}\n"

    def __enter__(self) -> Self:
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
