"""The recording of files misses no way to change one."""

from __future__ import annotations

from kcompat.log.files import Files
from support.recorded_files import COMPOSED, READING, RecordingFiles


def test_every_method_of_the_port_is_recorded_reads_or_is_made_of_others() -> None:
    port = {name for name in vars(Files) if not name.startswith("_")}
    recorded = {name for name in vars(RecordingFiles) if not name.startswith("_")}
    assert recorded | READING | COMPOSED == port
    assert not recorded & (READING | COMPOSED)
