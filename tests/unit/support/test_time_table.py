from __future__ import annotations

from support.time_table import table


def test_table_sums_each_file_and_puts_the_longest_first() -> None:
    lines = ["tests/a.py\t1.0\t0.5", "tests/b.py\t4.0\t1.0", "tests/a.py\t2.0\t0.25"]
    assert table(lines).splitlines()[2:] == [
        "| tests/b.py | 1 | 4.0 | 1.0 |",
        "| tests/a.py | 2 | 3.0 | 0.8 |",
        "| all | 3 | 7.0 | 1.8 |",
    ]
