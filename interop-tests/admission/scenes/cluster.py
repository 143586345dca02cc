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


@scene(ApiKey.DESCRIBE_QUORUM)
def describe_quorum(play: Asker, version: int) -> None:
    def without_progress(answer: Any) -> None:
        answer.nodes = []
        for row in answer.topics[0].partitions if answer.topics else ():
            row.high_watermark = 0
            for replica in row.current_voters:
                replica.log_end_offset = replica.last_fetch_timestamp = replica.last_caught_up_timestamp = 0

    topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    play.call(ApiKey.DESCRIBE_QUORUM, version, trim=without_progress, topics=topics)
