"""Read of many nodes in one request (ZOOKEEPER-3402, servers from 3.6 on), which kazoo does not support."""

from __future__ import annotations

from typing import Any, ClassVar

from kazoo.exceptions import EXCEPTIONS, NoNodeError
from kazoo.protocol.serialization import (
    GetData,
    MultiHeader,
    int_struct,
    multiheader_struct,
    read_buffer,
    stat_struct,
)
from kazoo.protocol.states import ZnodeStat
from msgspec import Struct

_ERROR = -1
_LAST = MultiHeader(-1, True, -1).serialize()


class MultiRead(Struct, frozen=True):
    """Request for the data and Stat of each path, with the methods that kazoo expects of a request."""

    type: ClassVar = 22
    paths: list[str]

    def serialize(self) -> bytearray:
        """Return the body of the request."""
        header = MultiHeader(GetData.type, False, -1).serialize()
        body = bytearray()
        for path in self.paths:
            body += header + GetData(path, None).serialize()
        body += _LAST
        return body

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Any]:
        """Return kazoo's (data, stat) for each path; None if the node does not exist, or the exception."""
        results: list[Any] = []
        while True:
            kind, is_last, _ = multiheader_struct.unpack_from(data, offset)
            offset += multiheader_struct.size
            if is_last:
                return results
            if kind == _ERROR:
                (code,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size
                results.append(None if code == NoNodeError.code else EXCEPTIONS[code]())
            else:
                payload, offset = read_buffer(data, offset)
                results.append((payload, ZnodeStat._make(stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size


def send_multi_read(client: Any, paths: list[str]) -> Any:
    """Send a `MultiRead` with a kazoo client; return kazoo's result object."""
    result = client.handler.async_result()
    client._call(MultiRead(paths), result)  # as kazoo's own transactions do
    return result
