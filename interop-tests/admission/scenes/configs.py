"""Configurations: described, altered and listed."""

from __future__ import annotations

from typing import Any

from admission.stage import OPEN_TOPIC, SECRET_TOPIC, SHARED, UNKNOWN, Asker, scene
from kcompat.protocol.api_keys import ApiKey

ALTERED = (
    (2, SECRET_TOPIC),
    (2, OPEN_TOPIC),
    (2, UNKNOWN[1]),
    (2, "a b"),
    (4, "1"),
    (4, ""),
    (8, "1"),
    (77, "x"),
)
CONFIGURED = (*ALTERED, (16, "m"))


def few_settings(answer: Any) -> None:
    """Leave one setting of each resource: which there are is compared elsewhere."""
    for row in answer.results:
        row.configs = [each for each in row.configs or () if each.name in ("retention.ms", "log.dirs")]
        for each in row.configs:
            if each.name == "log.dirs":
                each.value = ""
                each.synonyms = []
            each.is_default = False


@scene(ApiKey.DESCRIBE_CONFIGS, 1, 4)
def describe_configs(play: Asker, version: int) -> None:
    for kind, name in CONFIGURED:
        asked = [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]
        play.call(ApiKey.DESCRIBE_CONFIGS, version, trim=few_settings, resources=asked)


@scene(ApiKey.ALTER_CONFIGS)
def alter_configs(play: Asker, version: int) -> None:
    for kind, name in ALTERED:
        configs = [{"name": "retention.ms", "value": "-1"}] if kind == 2 else []
        asked = [{"resource_type": kind, "resource_name": name, "configs": configs}]
        play.call(ApiKey.ALTER_CONFIGS, version, resources=asked, validate_only=True)
    asked = [{"resource_type": 2, "resource_name": name, "configs": []} for name in (*SHARED, *UNKNOWN)]
    play.call(ApiKey.ALTER_CONFIGS, version, resources=asked, validate_only=True)


@scene(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def incremental_alter_configs(play: Asker, version: int) -> None:
    key = ApiKey.INCREMENTAL_ALTER_CONFIGS
    for kind, name in ALTERED:
        configs = [{"name": "retention.ms", "config_operation": 0, "value": "-1"}] if kind == 2 else []
        asked = [{"resource_type": kind, "resource_name": name, "configs": configs}]
        play.call(key, version, resources=asked, validate_only=True)
    configs = [{"name": "bad", "config_operation": 0, "value": "-1"}]
    asked = [{"resource_type": 2, "resource_name": name, "configs": configs} for name in (*SHARED, *UNKNOWN)]
    play.call(key, version, resources=asked, validate_only=True)


@scene(ApiKey.LIST_CONFIG_RESOURCES)
def list_config_resources(play: Asker, version: int) -> None:
    def shared(answer: Any) -> None:
        rows = answer.config_resources
        answer.config_resources = [
            row for row in rows if row.resource_type != 2 or row.resource_name in SHARED
        ]

    for types in ([], [2], [4], [99]):
        play.call(ApiKey.LIST_CONFIG_RESOURCES, version, trim=shared, resource_types=types)
