"""The server's side of SCRAM, against the RFC's example and a client made of the RFC alone."""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256, SCRAM_SHA_512, ScramIdentity
from kcompat.security.principals import USER, Principal
from kcompat.security.sasl.mechanism import Login, SaslError
from kcompat.security.sasl.scram import Scram
from kcompat.security.scram_keys import credential_of_password, random_text
from support.current import current
from support.scram_client import ScramClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.credentials import ScramCredential, ScramMechanism
    from kcompat.security.sasl.scram import ScramNegotiation

EXAMPLE_SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
OWNER = Principal(USER, "owner", token_authenticated=True)
WRONG = "unknown user or wrong password"


class Identities:
    """Identities by name, of any mechanism."""

    def __init__(self, identities: dict[str, ScramIdentity], iterations: int = 4096) -> None:
        self._identities = identities
        self._iterations = iterations

    def find(self, _mechanism: ScramMechanism, name: str) -> ScramIdentity | None:
        return self._identities.get(name)

    def usual_iterations(self, _mechanism: ScramMechanism) -> int:
        return self._iterations


@cache
def credential(mechanism: ScramMechanism, password: str, iterations: int) -> ScramCredential:
    """Return the credential of a password with the salt of the RFC's example."""
    return credential_of_password(mechanism, password, iterations, EXAMPLE_SALT)


def server(
    mechanism: ScramMechanism = SCRAM_SHA_256,
    users: tuple[str, ...] = ("user",),
    iterations: int = 4096,
    make_nonce: Callable[[], str] = random_text,
) -> ScramNegotiation:
    """A login to a server with these users, whose password is "pencil", and the token "id" of "secret"."""

    pencil, secret = (credential(mechanism, each, iterations) for each in ("pencil", "secret"))
    known = {name: ScramIdentity(Principal(USER, name), pencil) for name in users}
    tokens = {"id": ScramIdentity(OWNER, secret, 1234)}
    scram = Scram(mechanism, Identities(known, iterations), Identities(tokens), lambda: b"key", make_nonce)
    assert scram.name == mechanism.name
    return scram.begin()


def login(negotiation: ScramNegotiation, client: ScramClient, **replaced: str) -> Login:
    """Log in, and check that the server proves its knowledge too."""
    answer = negotiation.respond(client.first())
    assert current(negotiation.login) is None
    assert negotiation.respond(client.final(answer, **replaced)) == client.expected
    assert negotiation.login is not None
    return negotiation.login


def test_the_example_of_the_rfc() -> None:
    negotiation = server(make_nonce=lambda: SERVER_NONCE)
    first = negotiation.respond(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == f"r=rOprNGfwEbeRWgbNEkqO{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    final = negotiation.respond(
        f"c=biws,r=rOprNGfwEbeRWgbNEkqO{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert negotiation.login == Login(Principal(USER, "user"))


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
@pytest.mark.parametrize("name", ["user", "a,b=c", "=2C", "=3D2C", "ü ñ", "n=x"])
def test_a_user_logs_in_whatever_the_name(mechanism: ScramMechanism, name: str) -> None:
    client = ScramClient(name, "pencil", mechanism.hash)
    assert login(server(mechanism, users=(name,)), client) == Login(Principal(USER, name))


@pytest.mark.parametrize(
    "client",
    [
        ScramClient("user", "pencil", header="n,a=user,"),
        ScramClient("user", "pencil", extensions=",tokenauth=false"),
        ScramClient("user", "pencil", extensions=",other=x=y,more=1"),
    ],
)
def test_an_equal_authorization_id_and_unknown_extensions_are_accepted(client: ScramClient) -> None:
    assert login(server(), client).principal.name == "user"


def test_a_client_that_binds_nothing_though_it_named_an_authorization_id_is_accepted() -> None:
    login(server(), ScramClient("user", "pencil", header="n,a=user,"), c="biws")


@pytest.mark.parametrize("flag", ["true", "TRUE"])
def test_a_delegation_token_logs_its_owner_in(flag: str) -> None:
    client = ScramClient("id", "secret", extensions=f",tokenauth={flag}")
    assert login(server(), client) == Login(OWNER, 1234)


@pytest.mark.parametrize(
    "client",
    [
        ScramClient("user", "pencils"),
        ScramClient("nobody", "pencil"),
        ScramClient("id", "secret"),
        ScramClient("user", "pencil", extensions=",tokenauth=true"),
        ScramClient("id", "pencil", extensions=",tokenauth=true"),
    ],
)
def test_wrong_passwords_and_unknown_users_and_tokens_fail_alike(client: ScramClient) -> None:
    negotiation = server()
    final = client.final(negotiation.respond(client.first()))
    with pytest.raises(SaslError) as refusal:
        negotiation.respond(final)
    assert (str(refusal.value), refusal.value.message) == (WRONG, None)
    assert negotiation.login is None


def test_an_unknown_user_has_a_salt_of_its_own_that_stays() -> None:
    salts: dict[str, bytes] = {}
    for name in ("nobody", "nobody", "other"):
        client = ScramClient(name, "x")
        client.final(server(iterations=8192).respond(client.first()))
        assert client.iterations == 8192
        assert salts.setdefault(name, client.salt) == client.salt
    assert len(set(salts.values())) == 2


def test_another_authorization_id_is_refused_whether_or_not_the_user_exists() -> None:
    """With CVE-2017-12610 a client could act as another user by an authorization id of its own making."""
    messages = set()
    for name in ("user", "nobody"):
        with pytest.raises(SaslError) as refusal:
            server().respond(ScramClient(name, "pencil", header="n,a=root,").first())
        messages.add(refusal.value.message)
    (message,) = messages
    assert message is not None


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=user",
        b"n,,n=,r=abc",
        b"n,,n=user,r=",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=a b",
        b"n,,n=user,r=abc,",
        b"n,,n=user,r=abc,x",
        b"n,,n=us\0er,r=abc",
        b"n,,n=us\xffer,r=abc",
        b"n,,m=x,n=user,r=abc",
        b"y,,n=user,r=abc",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=user,r=abc\n",
    ],
)
def test_a_malformed_first_message_is_refused(first: bytes) -> None:
    with pytest.raises(SaslError) as refusal:
        server().respond(first)
    assert refusal.value.message is None


@pytest.mark.parametrize(
    "replaced",
    [
        {"r": "rOprNGfwEbeRWgbNEkqO"},
        {"r": f"x{SERVER_NONCE}"},
        {"r": f"rOprNGfwEbeRWgbNEkqO{SERVER_NONCE}x"},
        {"r": f"xrOprNGfwEbeRWgbNEkqO{SERVER_NONCE}"},
        {"c": b64encode(b"y,,").decode()},
        {"c": "biw"},
        {"p": ""},
        {"p": b64encode(bytes(31)).decode()},
        {"p": b64encode(bytes(64)).decode()},
        {"p": "dHzb*"},
        {"p": "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=,x=y"},
    ],
)
def test_a_wrong_final_message_is_refused(replaced: dict[str, str]) -> None:
    """With CVE-2024-56128 the nonce of the final message was not compared."""
    negotiation = server(make_nonce=lambda: SERVER_NONCE)
    client = ScramClient("user", "pencil")
    final = client.final(negotiation.respond(client.first()), **replaced)
    with pytest.raises(SaslError):
        negotiation.respond(final)
    assert negotiation.login is None


def test_the_doubled_nonce_of_an_old_librdkafka_is_accepted() -> None:
    negotiation, client = server(make_nonce=lambda: SERVER_NONCE), ScramClient("user", "pencil")
    first = negotiation.respond(client.first())
    nonce = f"{client.nonce}{client.nonce}{SERVER_NONCE}"
    negotiation.respond(client.final(first, r=nonce))
    assert negotiation.login is not None


def test_a_negotiation_takes_two_messages_and_one_attempt() -> None:
    negotiation, client = server(), ScramClient("user", "pencil")
    final = client.final(negotiation.respond(client.first()))
    with pytest.raises(SaslError):
        negotiation.respond(client.first())
    with pytest.raises(SaslError):
        negotiation.respond(final)
    assert negotiation.login is None


@st.composite
def changed(draw: st.DrawFn, message: bytes) -> bytes:
    """Return a message in which some bytes are replaced, added or removed."""
    begin = draw(st.integers(0, len(message)))
    end = draw(st.integers(begin, min(len(message), begin + 3)))
    filling = st.sampled_from([b"", b",", b"=", b"n=user", b"=2C", b"\xff", b"\0"]) | st.binary(max_size=3)
    return message[:begin] + draw(filling) + message[end:]


@given(st.binary() | changed(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"))
def test_any_first_message_is_answered_or_refused(message: bytes) -> None:
    negotiation = server()
    with suppress(SaslError):
        assert negotiation.respond(message).startswith(b"r=")
    assert negotiation.login is None


@given(st.data())
def test_no_other_final_message_logs_in(data: st.DataObject) -> None:
    negotiation = server(SCRAM_SHA_512, make_nonce=lambda: SERVER_NONCE)
    client = ScramClient("user", "pencil", "sha512")
    right = client.final(negotiation.respond(client.first()))
    message = data.draw(st.binary() | changed(right))
    try:
        negotiation.respond(message)
    except SaslError:
        assert message != right
        assert negotiation.login is None
    else:
        (unproven, proof), (expected, right_proof) = (each.split(b",p=") for each in (message, right))
        # The last digit of base64 has bits that do not count.
        assert (unproven, b64decode(proof)) == (expected, b64decode(right_proof))


def test_a_message_is_refused_for_its_length_before_it_is_read() -> None:
    login = server()
    with pytest.raises(SaslError, match="more than 16384 bytes"):
        login.respond(b"n,,n=" + b"a" * 500_000 + b",r=nonce")
    with pytest.raises(SaslError, match="follows the end"):
        login.respond(b"n,,n=user,r=nonce")
