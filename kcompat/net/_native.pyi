import select

from kcompat.net._python import Sends
from kcompat.net.hub import Hub
from kcompat.net.poller import Watched

NAMES: tuple[str, ...]
"""Of the attributes it reads, writes and calls of hubs, limits, handlers and connections."""

def serve(
    hub: Hub,
    epoll: select.epoll,
    readers: dict[int, Watched],
    writers: dict[int, Watched],
    sends: Sends,
    /,
) -> int: ...
def misfit(data: memoryview, position: int, /) -> int: ...
