"""ApiVersions: request and response (API key 18)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int16, int32, int64, string, struct


@message("0-5", flexible="3+", api_key=18)
class ApiVersionsRequest(Message):
    """Request for the APIs that the broker serves; it names the client software (key 18, v0 to v5)."""

    client_software_name: Annotated[str, string("3+", ignorable=True)] = ""
    client_software_version: Annotated[str, string("3+", ignorable=True)] = ""
    cluster_id: Annotated[str | None, string("5+", nullable="5+", ignorable=True)] = None
    node_id: Annotated[int, int32("5+", ignorable=True)] = -1


@message("0-5", flexible="3+", api_key=18)
class ApiVersionsResponse(Message):
    """Response: the APIs with their versions, and the features of the cluster (key 18, v0 to v5)."""

    class ApiVersion(Part):
        api_key: Annotated[int, int16("0+")] = 0
        min_version: Annotated[int, int16("0+")] = 0
        max_version: Annotated[int, int16("0+")] = 0

    class SupportedFeatureKey(Part):
        name: Annotated[str, string("3+")] = ""
        min_version: Annotated[int, int16("3+")] = 0
        max_version: Annotated[int, int16("3+")] = 0

    class FinalizedFeatureKey(Part):
        name: Annotated[str, string("3+")] = ""
        max_version_level: Annotated[int, int16("3+")] = 0
        min_version_level: Annotated[int, int16("3+")] = 0

    error_code: Annotated[int, int16("0+")] = 0
    api_keys: Annotated[list[ApiVersionsResponse.ApiVersion], struct("0+")] = []
    throttle_time_ms: Annotated[int, int32("1+", ignorable=True)] = 0
    supported_features: Annotated[
        list[ApiVersionsResponse.SupportedFeatureKey], struct("3+", tag=0, ignorable=True)
    ] = []
    finalized_features_epoch: Annotated[int, int64("3+", tag=1, ignorable=True)] = -1
    finalized_features: Annotated[
        list[ApiVersionsResponse.FinalizedFeatureKey], struct("3+", tag=2, ignorable=True)
    ] = []
    zk_migration_ready: Annotated[bool, boolean("3+", tag=3, ignorable=True)] = False
