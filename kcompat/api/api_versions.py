"""ApiVersions (key 18), versions 0-5: lists the versions in the registry (KIP-35, KIP-511).

Behaviour
- A request above version 5 is answered in version 0 with UNSUPPORTED_VERSION and the served versions of
  ApiVersions, so that the client can retry. Only the header of such a request is parsed; the dispatcher calls
  `unsupported` for it.
- From version 3 on the client names its software. A name or version with illegal characters, or longer than
  128 characters, is refused with INVALID_REQUEST.
- From version 3 on the response lists features (KIP-584): the supported levels, the finalized levels, and the
  epoch of the finalized ones. Clients before version 4 cannot read a supported level of 0, so features with
  that level are left out for them (KAFKA-17492).
- Version 5 may name the cluster and the node that the client expects (KIP-1242); they are not checked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcompat.api.registry import BROKER_LISTENERS, served_at
from kcompat.cluster.feature_levels import SUPPORTED
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext, Services
    from kcompat.api.registry import Served

FIRST_WITH_SOFTWARE = 3
FIRST_WITH_LEVEL_0 = 4
MAX_SOFTWARE_LENGTH = 128
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_Supported = ApiVersionsResponse.SupportedFeatureKey
_Finalized = ApiVersionsResponse.FinalizedFeatureKey


def handle(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """List the served versions of every API, and the features."""
    return list_versions(context.services, context.api_version, request)


def list_versions(services: Services, version: int, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Return the response to a request, which a client may send before it has authenticated."""
    if version >= FIRST_WITH_SOFTWARE and not has_valid_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    features = services.cluster.features
    return ApiVersionsResponse(
        api_keys=_rows(served_at(BROKER_LISTENERS, services.server.served)),
        supported_features=_supported(version),
        finalized_features_epoch=features.epoch,
        finalized_features=[_Finalized(name, level, level) for name, level in features.levels.items()],
    )


def has_valid_software(request: ApiVersionsRequest) -> bool:
    """Return whether the name and the version of the client's software have only allowed characters."""
    return all(
        len(text) <= MAX_SOFTWARE_LENGTH and _SOFTWARE.fullmatch(text)
        for text in (request.client_software_name, request.client_software_version)
    )


def unsupported(served: tuple[Served, ...]) -> ApiVersionsResponse:
    """Return the version 0 response for a client that uses an unknown version of ApiVersions."""
    mine = tuple(api for api in served if api.key == ApiKey.API_VERSIONS)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_rows(mine))


def _supported(version: int) -> list[_Supported]:
    return [
        _Supported(name, levels.lowest, levels.highest)
        for name, levels in SUPPORTED.items()
        if levels.lowest > 0 or version >= FIRST_WITH_LEVEL_0
    ]


def _rows(served: tuple[Served, ...]) -> list[ApiVersionsResponse.ApiVersion]:
    return [ApiVersionsResponse.ApiVersion(api.key, api.min_version, api.max_version) for api in served]
