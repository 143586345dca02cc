"""Kafka's metadata versions by their level, and the levels of other features that come with them.

Kafka's counterparts: `MetadataVersion` and `Feature` of Kafka 3.9 and 4.3.
"""

from __future__ import annotations

from typing import Final

_TEXT: Final = """
3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV0 3.3-IV1 3.3-IV2 3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0 3.6-IV1
3.6-IV2 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0 4.0-IV0 4.0-IV1 4.0-IV2 4.0-IV3 4.1-IV0
4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0
"""
_NAMES: Final = tuple(_TEXT.split())
"""Names of the versions in the order of their levels, from level 1 on."""

FEATURE: Final = "metadata.version"
OLDEST: Final = "3.3-IV3"
"""The first metadata version that Kafka 4 knows."""
NEWEST: Final = _NAMES[-1]
STABLE: Final = "4.3-IV0"
"""The metadata version of the newest release."""

_FIRST: Final = {
    "kraft.version": ("3.9-IV0",),
    "transaction.version": ("4.0-IV2", "4.0-IV2"),
    "group.version": ("4.0-IV0",),
    "eligible.leader.replicas.version": ("4.1-IV0",),
    "share.version": ("4.2-IV0",),
    "streams.version": ("4.2-IV1",),
}
"""Metadata versions with which the levels of each feature begin, from level 1."""


def levels_with(metadata_level: int) -> dict[str, int]:
    """Return the level that each other feature gets in a cluster of this metadata version."""
    return {
        name: sum(_NAMES.index(each) < metadata_level for each in firsts) for name, firsts in _FIRST.items()
    }


_NEEDS: Final = {("eligible.leader.replicas.version", 1): ((FEATURE, "4.0-IV1"),)}
"""Metadata versions that levels of features need."""


def is_metadata_level(level: int) -> bool:
    """Return whether Kafka 4 knows a metadata version of this level."""
    return _NAMES.index(OLDEST) < level <= len(_NAMES)


def needs_of(name: str, level: int) -> list[str] | None:
    """Return the levels of features that a level needs, as `metadata.version=23 (4.0-IV1)`; None if there is
    no such level. Raises KeyError for an unknown feature.
    """
    if level not in range(len(_FIRST[name]) + 1):
        return None
    return [f"{each}={level_of(version)} ({version})" for each, version in _NEEDS.get((name, level), ())]


def name_of(level: int) -> str:
    """Return the name of a level."""
    return _NAMES[level - 1] if 0 < level <= len(_NAMES) else f"UNKNOWN {level}"


def level_of(name: str) -> int | None:
    """Return the level of a version; a release such as 3.9 stands for the last version of it. None for an
    unknown name.
    """
    if name in _NAMES:
        return _NAMES.index(name) + 1
    release = ".".join(name.split(".")[:2])
    levels = [level for level, each in enumerate(_NAMES, 1) if each.startswith(f"{release}-")]
    return max(levels, default=None)


def names_from(first: str, last: str) -> tuple[str, ...]:
    """Return the names from `first` to `last`."""
    return _NAMES[_NAMES.index(first) : _NAMES.index(last) + 1]
