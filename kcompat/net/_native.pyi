import select

from kcompat.net._python import Sends
from kcompat.net.hub import Hub
from kcompat.net.poller import Reader, Watched

NAMES: tuple[str, ...]
"""Names of the attributes of hubs, limits, handlers and connections that the native code uses."""

def serve(
    hub: Hub,
    epoll: select.epoll,
    readers: dict[int, Reader],
    writers: dict[int, Watched],
    sends: Sends,
    /,
) -> int: ...
def misfit(data: memoryview, position: int, /) -> int: ...
