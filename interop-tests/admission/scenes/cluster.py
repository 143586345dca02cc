"""The cluster: who is in it, where its data lies, and which versions it speaks."""

from __future__ import annotations

from typing import Any

from admission.stage import SHARED, Asker, scene
from kcompat.protocol.api_keys import ApiKey


@scene(ApiKey.DESCRIBE_CLUSTER)
def describe_cluster(play: Asker, version: int) -> None:
    play.call(ApiKey.DESCRIBE_CLUSTER, version, include_cluster_authorized_operations=True)


@scene(ApiKey.DESCRIBE_LOG_DIRS, 0, 1, 3, 4)
def describe_log_dirs(play: Asker, version: int) -> None:
    topics = [{"topic": topic, "partitions": [0]} for topic in SHARED]
    play.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=topics)


@scene(ApiKey.API_VERSIONS)
def api_versions(play: Asker, version: int) -> None:
    def one_api(answer: Any) -> None:
        answer.api_keys = [row for row in answer.api_keys if row.api_key == ApiKey.HEARTBEAT]
        for name in ("supported_features", "finalized_features"):
            setattr(answer, name, [])
        answer.finalized_features_epoch = -1

    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    play.call(ApiKey.API_VERSIONS, version, trim=one_api, **software)
