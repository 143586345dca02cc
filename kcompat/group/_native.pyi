from collections.abc import Callable

from kcompat.group.bulk import Made, Offsets
from kcompat.records._python import Buffer

def fill(
    records: Buffer, base_offset: int, find: Callable[[str], Offsets[Made]], make: Callable[..., Made], /
) -> int: ...
