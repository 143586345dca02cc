"""Access rules: described, made and deleted."""

from __future__ import annotations

from admission.stage import Asker, scene
from kcompat.protocol.api_keys import ApiKey


@scene(ApiKey.DESCRIBE_ACLS, 1, 3)
def describe_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    play.call(ApiKey.DESCRIBE_ACLS, version, resource_name_filter="none", **asked)


@scene(ApiKey.CREATE_ACLS, 1, 3)
def create_acls(play: Asker, version: int) -> None:
    rule = {"resource_type": 2, "resource_name": play.name("t"), "resource_pattern_type": 3}
    rule |= {"principal": "User:somebody", "host": "*", "operation": 3, "permission_type": 3}
    play.call(ApiKey.CREATE_ACLS, version, creations=[rule, rule])


@scene(ApiKey.DELETE_ACLS, 1, 3)
def delete_acls(play: Asker, version: int) -> None:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    filters = [{"resource_name_filter": "none", **asked}] * 2
    play.call(ApiKey.DELETE_ACLS, version, filters=filters)
