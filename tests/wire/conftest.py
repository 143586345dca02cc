"""The fixture that runs tests of the network with every poller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import raw_peer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=list(raw_peer.POLLERS))
def either_poll(request: pytest.FixtureRequest) -> Iterator[None]:
    """Connections of `raw_peer.serving` are served by each poller of this system in turn."""
    with raw_peer.using(request.param):
        yield
