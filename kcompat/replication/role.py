"""The role of a partition that has none yet, and the check of the leader epoch that a client knows."""

from __future__ import annotations

from kcompat.cluster.news import Role
from kcompat.protocol.errors import ErrorCode

NO_EPOCH = -1
NO_LEADER = -1

NO_ROLE = Role(leader=NO_LEADER, leader_epoch=NO_EPOCH, isr=(), replicas=())


def fence(known_epoch: int, epoch: int) -> ErrorCode:
    """What to tell a client that knows `known_epoch` (-1: none) while `epoch` is in force (KIP-320)."""
    if known_epoch in (NO_EPOCH, epoch):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if known_epoch < epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
