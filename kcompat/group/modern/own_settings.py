"""Settings of one group: those of the broker for its kind, overridden by the group's own configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from kcompat.cluster.config_entities import GROUPS
from kcompat.config.group import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.cluster.image import ClusterImage
    from kcompat.config.group import Bounds

C = TypeVar("C", bound="KindConfig")


class KindConfig(Protocol):
    """The broker's settings for one kind of group."""

    def of_group(self, own: Mapping[str, str]) -> Self:
        """Return the settings of a group with these configs of its own, clamped to the broker's bounds."""


def settings_of(image: ClusterImage, broker: C, group_id: str) -> C:
    """Return the effective settings of a group; `broker` are the broker's settings for its kind."""
    return broker.of_group(image.configs(GROUPS, group_id))


def own_numbers(own: Mapping[str, str], limits: Iterable[tuple[str, str, Bounds]]) -> dict[str, int]:
    """Return the numbers that a group has set, by field name, clamped to the broker's current bounds.

    `limits` has the key, the field name and the bounds of each number.
    """
    return {
        field: number
        for name, field, bounds in limits
        if name in own and isinstance(number := bounded(name, own[name], bounds), int)
    }
