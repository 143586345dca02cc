"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): the server's side, for users and delegation tokens.

A client's first message names the user; the server answers with the user's salt and number of iterations. The
client's final message proves that it knows the password, and the server's that it knows the credential.

An unknown user gets a made-up salt and fails in the second round, as a wrong password does: the messages are
of the same form, and the same work is done for them. Kafka refuses unknown users in the first round.

As in Kafka, and unlike in the RFC, there is no channel binding, and neither names nor passwords are
normalized (SASLprep). The extension `tokenauth=true` says that the user is the id of a delegation token.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from hashlib import new
from typing import TYPE_CHECKING, Final

from kcompat.security.credentials import ScramCredential
from kcompat.security.sasl.mechanism import Login, SaslError
from kcompat.security.scram_keys import decoy_salt, random_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.credentials import CredentialSource, ScramMechanism, ScramTokens

OTHER_AUTHORIZATION_ID: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
LONGEST_MESSAGE: Final = 16 * 1024
"""Maximum number of bytes of a client's message: parsing longer ones would cost time and memory before the
client has logged in.
"""

_NAME: Final = r"(?:[^\x00=,]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = r"(?:,[A-Za-z]+=[^\x00,]+)*"
_BASE_64: Final = r"[A-Za-z0-9+/]*={0,2}"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<unproven>c=(?P<binding>{_BASE_64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE_64})"
)
_NO_BINDING: Final = b"n,,"


class Scram:
    """The server's side of one SCRAM mechanism (Kafka's `ScramSaslServer`)."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        users: CredentialSource,
        tokens: ScramTokens,
        decoy_key: Callable[[], bytes],
        make_nonce: Callable[[], str] = random_text,
    ) -> None:
        """Prepare the mechanism; `decoy_key` returns the secret of the cluster for `decoy_salt`."""
        self.name = mechanism.name
        self.mechanism = mechanism
        self.users = users
        self.tokens = tokens
        self.decoy_key = decoy_key
        self.make_nonce = make_nonce

    def begin(self) -> ScramNegotiation:
        """Return a negotiation for a new login."""
        return ScramNegotiation(self)


class ScramNegotiation:
    """One login by SCRAM: a first and a final message of the client, and their answers."""

    def __init__(self, scram: Scram) -> None:
        self.login: Login | None = None
        self._scram = scram
        self._round: Callable[[str], str] = self._first

    def respond(self, token: bytes) -> bytes:
        """Take the client's next message and return the server's.

        Raises:
            SaslError: the message is malformed, the proof is wrong or the user is unknown.
        """
        this_round, self._round = self._round, _no_more
        if len(token) > LONGEST_MESSAGE:
            raise SaslError(f"a SCRAM message of more than {LONGEST_MESSAGE} bytes")
        try:
            message = token.decode()
        except UnicodeDecodeError:
            raise SaslError("a SCRAM message is not UTF-8") from None
        return this_round(message).encode()

    def _first(self, message: str) -> str:
        found = _CLIENT_FIRST.fullmatch(message)
        if found is None:
            raise SaslError("the first SCRAM message is malformed")
        name = _unescaped(found["name"])
        if found["authzid"] is not None and _unescaped(found["authzid"]) != name:
            raise SaslError("the authorization id is not the user name", OTHER_AUTHORIZATION_ID)
        scram, mechanism = self._scram, self._scram.mechanism
        # Known users cost the time of a decoy too.
        key = new(mechanism.hash).digest()
        salt = decoy_salt(scram.decoy_key(), mechanism, name)
        decoy = ScramCredential(salt, key, key, scram.users.usual_iterations(mechanism))
        is_token = _extension(found["extensions"], "tokenauth").lower() == "true"
        self._identity = (scram.tokens if is_token else scram.users).find(mechanism, name)
        self._credential = decoy if self._identity is None else self._identity.credential
        self._header = found["header"].encode()
        self._client_nonce = found["nonce"]
        self._nonce = self._client_nonce + scram.make_nonce()
        shown_salt = b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={shown_salt},i={self._credential.iterations}"
        self._exchanged = f"{found['bare']},{answer}"
        self._round = self._final
        return answer

    def _final(self, message: str) -> str:
        found = _CLIENT_FINAL.fullmatch(message)
        if found is None:
            raise SaslError("the final SCRAM message is malformed")
        # librdkafka before 2.6.1 puts its own part of the nonce before it once more; Kafka takes any text.
        if found["nonce"] not in (self._nonce, self._client_nonce + self._nonce):
            raise SaslError("the nonce of the final SCRAM message is not the one of this login")
        if _decoded(found["binding"]) not in (self._header, _NO_BINDING):
            raise SaslError("the final SCRAM message repeats another header")
        proof = _decoded(found["proof"])
        hash_name = self._scram.mechanism.hash
        exchanged = f"{self._exchanged},{found['unproven']}".encode()
        signature = hmac.digest(self._credential.stored_key, exchanged, hash_name)
        if len(proof) != len(signature):
            raise SaslError("the proof of the final SCRAM message has the wrong length")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        is_proven = hmac.compare_digest(new(hash_name, client_key).digest(), self._credential.stored_key)
        if self._identity is None or not is_proven:
            raise SaslError("unknown user or wrong password")
        self.login = Login(self._identity.principal, self._identity.expires_at_ms)
        return f"v={b64encode(hmac.digest(self._credential.server_key, exchanged, hash_name)).decode()}"


def _no_more(_message: str) -> str:
    raise SaslError("a SCRAM message follows the end of the negotiation")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _extension(extensions: str, name: str) -> str:
    """Return the value of an extension, empty if it is absent."""
    return dict(each.partition("=")[::2] for each in extensions.split(",")).get(name, "")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise SaslError("a SCRAM message has invalid base64") from None
