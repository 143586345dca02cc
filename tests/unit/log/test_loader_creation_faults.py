"""A log that could not be made leaves nothing behind and can be made later."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.log.context import LogContext
from kcompat.log.files import Files
from kcompat.log.loader import create_log
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path


class FullDisk(Files):
    """Every write fails while `code` is set."""

    code = 0

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.code:
            raise OSError(self.code, "no write today")
        return super().write(fd, data, position)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE])
def test_it_can_be_made_later(code: int, tmp_path: Path) -> None:
    files = FullDisk()
    context = LogContext(str(tmp_path), files)
    directory = tmp_path / "t-0"

    files.code = code
    with pytest.raises(OSError, match="no write today") as failure:
        create_log(directory, "t", 0, log_settings(), topic_id=bytes(16), now_ms=0, context=context).make()
    assert not directory.exists()
    context.fault(failure.value)
    assert context.offline is None

    files.code = 0
    create_log(directory, "t", 0, log_settings(), topic_id=bytes(16), now_ms=0, context=context).make()
    assert directory.exists()
