"""PEM texts, also such as a properties file leaves them."""

from __future__ import annotations

import ssl

import pytest

from kcompat.security.pem import Block, blocks
from support.tls_authority import Authority, as_pem

AUTHORITY = Authority()


def test_the_blocks_of_a_text_come_in_their_order() -> None:
    found = blocks("a comment\n" + as_pem(AUTHORITY.broker).decode() + "another")
    assert [block.label for block in found] == ["PRIVATE KEY", "CERTIFICATE"]
    assert [block.is_key for block in found] == [True, False]
    assert [block.is_certificate for block in found] == [False, True]


@pytest.mark.parametrize("between", [" ", "", "\r\n", "\n  "])
def test_line_breaks_do_not_matter(between: str) -> None:
    given = AUTHORITY.pem
    (block,) = blocks(given.replace("\n", between))
    assert str(block) == given
    assert ssl.PEM_cert_to_DER_cert(str(block))


def test_headers_of_old_keys_are_kept() -> None:
    text = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
        "AAAA\n-----END RSA PRIVATE KEY-----\n"
    )
    assert str(blocks(text)[0]) == text


@pytest.mark.parametrize(
    "text", ["", "-----BEGIN A-----\nAAAA", "-----BEGIN A-----\nA\n-----END B-----", "%"]
)
def test_there_may_be_no_block(text: str) -> None:
    assert blocks(text) == []


def test_a_key_is_not_shown() -> None:
    assert repr(Block("PRIVATE KEY", "", "opensesame")) == "Block(PRIVATE KEY)"
