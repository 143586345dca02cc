"""Both codecs, for tests that call one by its functions; messages use that of `kcompat.capabilities`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.codecs import CODECS

if TYPE_CHECKING:
    from support.codecs import MessageCodec


@pytest.fixture(params=CODECS, ids=lambda codec: codec.name)
def codec(request: pytest.FixtureRequest) -> MessageCodec:
    """Each codec there is."""
    found: MessageCodec = request.param
    return found
