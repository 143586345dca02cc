import select

from kcompat.net._python import Sends
from kcompat.net.connection import Connection
from kcompat.net.hub import Hub

def serve(
    hub: Hub,
    epoll: select.epoll,
    readers: dict[int, Connection],
    writers: dict[int, Connection],
    sends: Sends,
    /,
) -> int: ...
def misfit(data: memoryview, position: int, /) -> int: ...
