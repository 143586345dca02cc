"""What the controller decides for a partition (LeaderAndIsr), and whom its leader epoch turns away."""

from __future__ import annotations

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

NO_EPOCH = -1
NO_LEADER = -1


class Role(Struct, frozen=True):
    """Who leads, since which epoch, who is in sync."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int = 0


NO_ROLE = Role(leader=NO_LEADER, leader_epoch=NO_EPOCH, isr=(), replicas=())


def fence(known_epoch: int, epoch: int) -> ErrorCode:
    """What a client is told that knows `known_epoch` (-1: none) where `epoch` is in force (KIP-320)."""
    if known_epoch in (NO_EPOCH, epoch):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if known_epoch < epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
