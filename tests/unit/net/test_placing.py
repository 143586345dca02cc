"""How far data is from where the kernel copies it quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from kcompat.net import _python, placing
from kcompat.net.sizes import GRAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    Misfit: TypeAlias = Callable[[memoryview, int], int]

either = pytest.mark.parametrize("misfit", [placing.misfit, _python.misfit])


@either
@pytest.mark.parametrize("position", [0, 1, 31, 32, 4095, 973_466, 2**40 + 17])
@pytest.mark.parametrize("start", [0, 1, 15, 16, 17, 31])
def test_so_much_further_on_it_fits(misfit: Misfit, start: int, position: int) -> None:
    view = memoryview(bytearray(1000))[start:]
    found = misfit(view, position)
    assert 0 <= found < GRAIN
    assert misfit(view[found:], position) == 0
    assert misfit(view[found + 1 :], position) == GRAIN - 1


@either
def test_memory_that_is_read_only_is_no_fault(misfit: Misfit) -> None:
    assert 0 <= misfit(memoryview(bytes(100))[1:], 0) < GRAIN
