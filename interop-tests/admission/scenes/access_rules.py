"""Access rules: described, made and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from admission.stage import DENIED, Asker, scene
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable


def only_denials_of_rules(rows: str) -> Callable[[Any], None]:
    """The reference has an authorizer that keeps rules, ours does not: only denials are compared."""

    def trim(answer: Any) -> None:
        for row in [answer] if rows == "resources" else getattr(answer, rows):
            if row.error_code not in DENIED:
                row.error_code, row.error_message = 0, None
        if rows == "resources":
            answer.resources = []

    return trim


@scene(ApiKey.DESCRIBE_ACLS, 1, 3)
def describe_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    trim = only_denials_of_rules("resources")
    play.call(ApiKey.DESCRIBE_ACLS, version, trim=trim, resource_name_filter="none", **asked)


@scene(ApiKey.CREATE_ACLS, 1, 3)
def create_acls(play: Asker, version: int) -> None:
    rule = {"resource_type": 2, "resource_name": play.name("t"), "resource_pattern_type": 3}
    rule |= {"principal": "User:somebody", "host": "*", "operation": 3, "permission_type": 3}
    trim = only_denials_of_rules("results")
    play.call(ApiKey.CREATE_ACLS, version, trim=trim, creations=[rule, rule])


@scene(ApiKey.DELETE_ACLS, 1, 3)
def delete_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    filters = [{"resource_name_filter": "none", **asked}] * 2
    trim = only_denials_of_rules("filter_results")
    play.call(ApiKey.DELETE_ACLS, version, trim=trim, filters=filters)
