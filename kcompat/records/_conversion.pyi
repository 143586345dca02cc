from kcompat.records._python import Buffer

def write_messages(
    records: Buffer,
    position: int,
    room: int,
    magic: int,
    attributes: int,
    base_offset: int,
    base_timestamp: int,
    first_offset: int,
    origin: int,
    /,
) -> tuple[bytes, int, int, int, int, int, int]: ...
def write_records(
    messages: Buffer,
    position: int,
    room: int,
    largest: int,
    magic: int,
    flags: int,
    index: int,
    base_timestamp: int,
    earliest: int,
    latest: int,
    /,
) -> tuple[bytes, int, int, int, int, int]: ...
def write_wrapper(packed: Buffer, offset: int, magic: int, attributes: int, timestamp: int, /) -> bytes: ...
