"""Keys of SCRAM credentials, and the salts of unknown users."""

from __future__ import annotations

from base64 import b64decode

from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256, SCRAM_SHA_512
from kcompat.security.scram_keys import credential_of_password, decoy_salt, random_text


def test_the_keys_of_a_password() -> None:
    """The password, salt and keys are those of RFC 7677's example, as PostgreSQL prints them."""
    credential = credential_of_password(SCRAM_SHA_256, "pencil", 4096, b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    assert credential.stored_key == b64decode("WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=")
    assert credential.server_key == b64decode("wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")


def test_salts_are_random_texts_of_kafkas_form() -> None:
    one, other = (credential_of_password(SCRAM_SHA_512, "pencil", 4096) for _ in range(2))
    assert one.salt != other.salt
    assert one.stored_key != other.stored_key
    texts = [one.salt.decode(), random_text(), decoy_salt(b"key", SCRAM_SHA_512, "alice").decode()]
    for text in texts:
        assert set(text) <= set("0123456789abcdefghijklmnopqrstuvwxyz")
        assert 20 < len(text) < 27
        assert int(text, 36) < 2**130


def test_a_decoy_salt_depends_on_the_key_the_mechanism_and_the_name_alone() -> None:
    salts = {
        decoy_salt(key, mechanism, name)
        for key in (b"one", b"two")
        for mechanism in SCRAM_MECHANISMS
        for name in ("alice", "bob", "ü", "")
    }
    assert len(salts) == 16
    assert decoy_salt(b"one", SCRAM_SHA_256, "alice") == decoy_salt(b"one", SCRAM_SHA_256, "alice")
