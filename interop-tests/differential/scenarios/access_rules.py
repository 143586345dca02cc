"""Access rules of a broker without an authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from differential.catalogue import scenario
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from differential.play import Play

CREATE, DESCRIBE, DELETE = ApiKey.CREATE_ACLS, ApiKey.DESCRIBE_ACLS, ApiKey.DELETE_ACLS

RULE = {
    "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3,
    "principal": "User:somebody", "host": "*", "operation": 3, "permission_type": 3,
}  # fmt: skip
FILTER = {
    "resource_type_filter": 2, "resource_name_filter": None, "pattern_type_filter": 3,
    "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip
"""Matches every rule on topics."""

PATTERNS = ("resource_pattern_type", "pattern_type_filter")
CODED = ("resource_type", "resource_type_filter", *PATTERNS, "operation", "permission_type")
ODD_CODES = (0, 1, -1, 15, 127)
"""UNKNOWN, ANY, and codes that no release of Kafka has."""
FIRST_WITH_PATTERNS = 1


def with_odd_codes(whole: dict[str, object], version: int) -> list[dict[str, object]]:
    """Return copies of a rule or filter, in each of which one element has an odd code."""
    names = [name for name in CODED if name in whole]
    if version < FIRST_WITH_PATTERNS:
        names = [name for name in names if name not in PATTERNS]
    return [{**whole, name: code} for name in names for code in ODD_CODES]


@scenario(DESCRIBE)
def describe_acls(play: Play, version: int) -> None:
    for asked in (FILTER, *with_odd_codes(FILTER, version)):
        play.call(DESCRIBE, version, **asked)


@scenario(CREATE)
def create_acls(play: Play, version: int) -> None:
    for rules in ([RULE, RULE], [], *([RULE, odd] for odd in with_odd_codes(RULE, version))):
        play.call(CREATE, version, creations=rules)


@scenario(DELETE)
def delete_acls(play: Play, version: int) -> None:
    for filters in ([FILTER, FILTER], [], *([FILTER, odd] for odd in with_odd_codes(FILTER, version))):
        play.call(DELETE, version, filters=filters)
