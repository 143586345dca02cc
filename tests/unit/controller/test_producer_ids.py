from __future__ import annotations

from kcompat.cluster.znodes import ProducerIdBlock
from kcompat.controller.producer_ids import ProducerIds
from kcompat.promise import Promise


class Blocks:
    """Blocks that come when the test hands them out."""

    def __init__(self) -> None:
        self.asked: list[Promise[ProducerIdBlock | None]] = []

    def allocate(self) -> Promise[ProducerIdBlock | None]:
        self.asked.append(Promise())
        return self.asked[-1]


def test_one_block_serves_many_and_is_asked_for_once() -> None:
    blocks = Blocks()
    ids = ProducerIds(blocks.allocate)
    waiting = [ids.next() for _ in range(3)]
    assert len(blocks.asked) == 1
    blocks.asked[0].complete(ProducerIdBlock(1, 1000, 1999))
    assert [promise.value for promise in waiting] == [1000, 1001, 1002]
    assert ids.next().value == 1003


def test_those_who_find_a_block_used_up_wait_for_the_next() -> None:
    blocks = Blocks()
    ids = ProducerIds(blocks.allocate)
    waiting = [ids.next() for _ in range(3)]
    blocks.asked[0].complete(ProducerIdBlock(1, 0, 1))
    assert [promise.done for promise in waiting] == [True, True, False]
    blocks.asked[1].complete(ProducerIdBlock(1, 2, 3))
    assert waiting[2].value == 2
    assert len(blocks.asked) == 2


def test_no_block_answers_all_and_the_next_caller_asks_again() -> None:
    blocks = Blocks()
    ids = ProducerIds(blocks.allocate)
    waiting = [ids.next() for _ in range(2)]
    blocks.asked[0].complete(None)
    assert [promise.value for promise in waiting] == [None, None]
    again = ids.next()
    blocks.asked[1].complete(ProducerIdBlock(1, 0, 999))
    assert again.value == 0


def test_a_failure_to_get_a_block_fails_all_who_wait_and_the_next_caller_asks_again() -> None:
    blocks = Blocks()
    ids = ProducerIds(blocks.allocate)
    failures: list[Exception] = []
    for _ in range(2):
        ids.next().then(lambda _: None, failures.append)
    blocks.asked[0].fail(ZeroDivisionError("a bug"))
    assert [type(failure) for failure in failures] == [ZeroDivisionError, ZeroDivisionError]
    again = ids.next()
    blocks.asked[1].complete(ProducerIdBlock(1, 0, 999))
    assert again.value == 0
