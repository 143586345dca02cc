from __future__ import annotations

import pytest

from kcompat.store.interface import OPEN_ACL, Access
from kcompat.zookeeper_server.access import NodePermission, accept, allows, digest_identity, visible_acl
from kcompat.zookeeper_server.records import ACL, Code, Id
from kcompat.zookeeper_server.refusal import RefusedError

IP = ("ip", "10.1.2.3")
ME = digest_identity(b"me:secret")


def test_the_digest_is_zookeepers() -> None:
    # As `org.apache.zookeeper.server.auth.DigestAuthenticationProvider super:test` prints it.
    assert digest_identity(b"super:test") == ("digest", "super:D/InIHSb7yEEbrWz8b9l71RjZJU=")


def test_one_entry_must_allow_one_of_the_permissions_to_one_of_the_identities() -> None:
    acl = (Access(1, "world", "anyone"), Access(31, *ME))
    assert allows(acl, NodePermission.READ, [IP])
    assert not allows(acl, NodePermission.WRITE, [IP])
    assert allows(acl, NodePermission.WRITE, [IP, ME])
    assert allows(acl, NodePermission.READ | NodePermission.ADMIN, [IP])
    assert not allows(acl, NodePermission.WRITE, [("digest", "me:other")])
    assert allows((), NodePermission.ADMIN, [])


@pytest.mark.parametrize(
    ("network", "matches"),
    [
        ("10.1.2.3", True),
        ("10.1.2.4", False),
        ("10.1.0.0/16", True),
        ("10.2.0.0/16", False),
        ("9.9.9.9/0", True),
    ],
)
def test_addresses_match_by_their_first_bits(network: str, matches: bool) -> None:
    acl = accept([ACL(31, Id("ip", network))], [])
    assert allows(acl, NodePermission.WRITE, [IP]) is matches
    assert not allows(acl, NodePermission.WRITE, [("ip", "::1")])


def test_auth_stands_for_what_was_proved_and_entries_count_once() -> None:
    asked = [ACL(3, Id("auth", None)), ACL(1, Id("world", "anyone")), ACL(1, Id("world", "anyone"))]
    assert accept(asked, [IP, ME]) == (Access(3, *ME), Access(1, "world", "anyone"))


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [ACL(31, Id("auth", ""))],
        [ACL(31, Id("world", "me"))],
        [ACL(31, Id("digest", "me"))],
        [ACL(31, Id("digest", "a:b:c"))],
        [ACL(31, Id("ip", "10.1.2"))],
        [ACL(31, Id("ip", "10.1.2.3/33"))],
        [ACL(31, Id("ip", "10.1.2.3/x"))],
        [ACL(31, Id("sasl", "me"))],
        [ACL(31, Id(None, None))],
        [ACL(31, Id("digest", None))],
        [ACL(31, Id("world", "anyone")), ACL(31, Id("nobody", "knows"))],
    ],
)
def test_lists_that_are_not_taken(asked: list[ACL]) -> None:
    with pytest.raises(RefusedError) as refused:
        accept(asked, [IP])
    assert refused.value.code is Code.INVALID_ACL


def test_digests_are_shown_to_administrators_alone() -> None:
    acl = (Access(31, *ME), Access(1, "world", "anyone"))
    assert visible_acl(acl, [IP])[0] == ACL(31, Id("digest", "me:x"))
    assert visible_acl(acl, [ME])[0].id == Id(*ME)
    assert visible_acl(OPEN_ACL, []) == (ACL(31, Id("world", "anyone")),)
