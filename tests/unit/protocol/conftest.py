"""Every test of the protocol runs with each codec there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.codecs import CODECS, MessageCodec, using

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, params=CODECS, ids=lambda codec: codec.name)
def codec(request: pytest.FixtureRequest) -> Iterator[MessageCodec]:
    """The codec of the test."""
    with using(request.param):
        yield request.param
