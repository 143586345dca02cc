"""Who may use what a broker makes in ZooKeeper."""

from __future__ import annotations

import pytest

from kcompat.store.interface import OPEN_ACL
from kcompat.store.zookeeper.access import CREATOR_ONLY, READ_BY_ALL, default_acl


@pytest.mark.parametrize(
    ("path", "acl"),
    [
        ("/brokers/topics/t", READ_BY_ALL),
        ("/config/topics/t", READ_BY_ALL),
        ("/config/changes/config_change_", READ_BY_ALL),
        ("/config/users/alice", CREATOR_ONLY),
        ("/config/users", CREATOR_ONLY),
        ("/config/brokers/1", CREATOR_ONLY),
        ("/delegation_token/tokens/x", CREATOR_ONLY),
        ("/consumers", OPEN_ACL),
        ("/consumers/g", READ_BY_ALL),
    ],
)
def test_access_lists_of_paths(path: str, acl: object) -> None:
    assert default_acl(path, is_secure=True) == acl
    assert default_acl(path, is_secure=False) == OPEN_ACL
