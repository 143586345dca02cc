"""The users of `--add-scram`, in Kafka's form."""

from __future__ import annotations

import pytest

from kcompat.errors import ConfigError
from kcompat.security.added_users import added_user
from kcompat.security.credentials import SCRAM_MECHANISMS, SCRAM_SHA_256, ScramCredential
from kcompat.security.scram_keys import credential_of, credential_of_password


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_a_password(mechanism: object) -> None:
    (chosen,) = (each for each in SCRAM_MECHANISMS if each == mechanism)
    user = added_user(f'{chosen.name}=[name=alice,password="se=cret "]')
    credential = ScramCredential.parse(user.credential)
    assert (user.name, user.mechanism, credential.iterations) == ("alice", chosen.name, 4096)
    assert credential == credential_of_password(chosen, "se=cret ", 4096, credential.salt)
    assert "salt=" not in repr(user)


def test_a_salt_iterations_and_a_salted_password() -> None:
    """The second argument is the example in the help of `kafka-storage`."""
    user = added_user(" SCRAM-SHA-256=[name=a b,iterations=8192,password=x,salt=N3E=] ")
    expected = credential_of_password(SCRAM_SHA_256, "x", 8192, b"7q")
    assert (user.name, user.credential) == ("a b", expected.format())
    user = added_user('SCRAM-SHA-256=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]')
    assert user.credential == credential_of(SCRAM_SHA_256, b"7q", b"`!", 8192).format()


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("SCRAM-SHA-256", "has no ="),
        ("SCRAM-SHA-256=[name=a,password=hidden\udcff]", "not UTF-8"),
        ("SCRAM-SHA-1=[name=a,password=hidden]", "not one of SCRAM-SHA-256, SCRAM-SHA-512"),
        ("SCRAM-SHA-256=name=a,password=hidden", "not in brackets"),
        ("SCRAM-SHA-256=[name=a,password=hidden", "not in brackets"),
        ("SCRAM-SHA-256=[password=hidden]", "has no name"),
        ("SCRAM-SHA-256=[name=,password=hidden]", "has no name"),
        ("SCRAM-SHA-256=[name=a]", "neither"),
        ("SCRAM-SHA-256=[name=a,password=]", "is empty"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=hidden]", "without its salt"),
        ("SCRAM-SHA-256=[name=a,salt=N3E=,saltedpassword=hidden*]", "saltedpassword .* not base64"),
        ("SCRAM-SHA-256=[name=a,password=hidden,salt=*]", "salt .* not base64"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=4095]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=16385]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=-1]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=hid,den]", "none of"),
        ("SCRAM-SHA-256=[name=a,password=hidden,colour=red]", "none of"),
    ],
)
def test_another_argument_is_refused_in_one_sentence_without_the_secret(argument: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refusal:
        added_user(argument)
    assert "hid" not in str(refusal.value)
