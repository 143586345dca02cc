"""Logins by SCRAM over a raw connection, with what each answer was and how long it took."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.scram_keys import random_text, salted_password
from support.ports import free_port
from support.raw_client import RawClient
from support.scram_client import ScramClient

if TYPE_CHECKING:
    from kcompat.security.credentials import ScramMechanism

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion

SCRAM_SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "connection.failed.authentication.delay.ms": "0",
}


class ScramPorts:
    """Ports of a listener without and of one with SASL."""

    def __init__(self) -> None:
        self.plain, self.sasl = free_port(), free_port()

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a broker with these listeners."""
        listeners = f"PLAINTEXT://127.0.0.1:{self.plain},SASL://127.0.0.1:{self.sasl}"
        return {**SCRAM_SETTINGS, "listeners": listeners}


def set_password(port: int, name: str, password: str | None, mechanism: ScramMechanism) -> None:
    """Set the password of a user, or delete it."""
    request = AlterUserScramCredentialsRequest([Deletion(name, mechanism.type)])
    if password is not None:
        salt = random_text().encode()
        salted = salted_password(mechanism, password, salt, 4096)
        upsertion = Upsertion(name, mechanism.type, 4096, salt, salted)
        request = AlterUserScramCredentialsRequest(upsertions=[upsertion])
    with RawClient(("127.0.0.1", port)) as client:
        assert [row.error_code for row in client.call(request, 0).results] == [0]


class ScramLogin(RawClient):
    """A connection that tries to log in: the answers, and the seconds that each took."""

    def __init__(
        self, port: int, mechanism: ScramMechanism, name: str, password: str, extensions: str = ""
    ) -> None:
        super().__init__(("127.0.0.1", port))
        scram = ScramClient(name, password, mechanism.hash, "0123456789abcdef", extensions=extensions)
        self.answers: list[Any] = []
        self.seconds: list[float] = []
        try:
            self.call(SaslHandshakeRequest(mechanism=mechanism.name), 1)
            self._ask(scram.first())
            self._ask(scram.final(self.answers[0].auth_bytes))
        except Exception:
            self.close()
            raise
        self.error: int = self.answers[1].error_code
        if not self.error:
            assert self.answers[1].auth_bytes == scram.expected
        self.salt, self.iterations = scram.salt, scram.iterations

    def _ask(self, token: bytes) -> None:
        begin = time.perf_counter()
        self.answers.append(self.call(SaslAuthenticateRequest(auth_bytes=token), 2))
        self.seconds.append(time.perf_counter() - begin)


def tried(port: int, mechanism: ScramMechanism, name: str, password: str, extensions: str = "") -> ScramLogin:
    """Try to log in, and close the connection."""
    with ScramLogin(port, mechanism, name, password, extensions) as login:
        return login
