"""The client's side of SCRAM: the example of RFC 7677, and servers that are not to be trusted."""

from __future__ import annotations

import pytest

from kcompat.security.credentials import SCRAM_SHA_256, SCRAM_SHA_512
from kcompat.security.sasl.mechanism import SaslError
from kcompat.security.sasl.scram_client import ScramClient

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def client(user: str = "user", password: str = "pencil") -> ScramClient:
    return ScramClient(SCRAM_SHA_256, user, password, lambda: NONCE)


def test_the_exchange_of_rfc_7677() -> None:
    negotiation = client().begin()
    assert negotiation.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert negotiation.respond(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert negotiation.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"e=unknown-user",
        b"r=" + NONCE.encode() + b",s=QUJD,i=4096",
        b"r=other-nonce,s=QUJD,i=4096",
        b"r=" + NONCE.encode() + b"x,s=QUJD,i=4095",
        b"r=" + NONCE.encode() + b"x,s=QUJD,i=16385",
        b"r=" + NONCE.encode() + b"x,s=QUJD,i=999999999",
        b"r=" + NONCE.encode() + b"x,s=" + b"QUJD" * 400 + b",i=4096",
        b"r=" + NONCE.encode() + b"x,s=Q,i=4096",
        b"r=" + NONCE.encode() + b"x,s=QUJD,i=-1",
        b"m=ext,r=" + NONCE.encode() + b"x,s=QUJD,i=4096",
    ],
)
def test_a_first_message_that_is_malformed_or_asks_for_too_much_is_refused(first: bytes) -> None:
    negotiation = client().begin()
    negotiation.first()
    with pytest.raises(SaslError):
        negotiation.respond(first)


@pytest.mark.parametrize(
    "final", [b"", b"v=", b"v=AAAA", b"e=other-error", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl96G4="]
)
def test_a_server_that_does_not_know_the_password_is_refused(final: bytes) -> None:
    negotiation = client().begin()
    negotiation.first()
    negotiation.respond(SERVER_FIRST)
    with pytest.raises(SaslError):
        negotiation.respond(final)


def test_user_names_are_escaped() -> None:
    assert client("a,b=c").begin().first() == b"n,,n=a=2Cb=3Dc,r=rOprNGfwEbeRWgbNEkqO"


def test_each_login_has_a_nonce_of_its_own() -> None:
    scram = ScramClient(SCRAM_SHA_512, "user", "pencil")
    assert scram.begin().first() != scram.begin().first()
