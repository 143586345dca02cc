"""How a broker leaves: when the controller is asked, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo, PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.controller.departure import Departure
from kcompat.controller.shutdown import StillLed
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.store.process_store import ProcessStore
from kcompat.store.tree import Tree
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.store.process_session import ProcessSession
    from kcompat.store.tree import Staged
    from support.virtual_loop import VirtualLoop

PAUSE_S = 5.0
REQUEST_S = 30.0
LED = StillLed(partitions=[("t", 0)])
GONE = PeerError(PeerFault.NO_ANSWER, "the controller")
NEVER = None


class Scene:
    """Broker 1, which leaves a cluster of three; `answers` are those of the controller, the last one for
    good. `asked_s` are the times at which it was asked, `open` what it has not answered.
    """

    def __init__(
        self, loop: VirtualLoop, session: ProcessSession, answers: Sequence[StillLed | PeerError | None]
    ) -> None:
        self._loop = loop
        self._answers = list(answers)
        self.session = session
        self.cluster = MetadataCache("c")
        self.asked_s: list[float] = []
        self.open: list[Promise[StillLed]] = []
        self.show(brokers=(1, 2, 3), isr=(1,))

    def show(self, *, brokers: Sequence[int], isr: Sequence[int], controller: int = 2) -> None:
        """Another picture of the cluster."""
        partition = PartitionInfo(leader=1, leader_epoch=0, replicas=(1, 2), isr=tuple(isr))
        topic = TopicImage("t", bytes(15) + b"1", {0: partition})
        image = replace(
            self.cluster.image.with_topics([topic]),
            brokers={each: BrokerInfo(each, None, {}) for each in brokers},
            controller_id=controller,
        )
        self.cluster.update(image)

    def after(self, delay_s: float, act: Callable[[], object]) -> None:
        self._loop.call_later(delay_s, act)

    def ask(self) -> Promise[StillLed]:
        self.asked_s.append(self._loop.time())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        promise: Promise[StillLed] = Promise()
        if isinstance(answer, PeerError):
            promise.fail(answer)
        elif answer is None:
            self.open.append(promise)
        else:
            promise.complete(answer)
        return promise


class _Memory:
    """A journal of nothing."""

    def load(self) -> Tree:
        return Tree()

    async def write(self, zxid: int, staged: Staged) -> None:
        return

    def close(self) -> None:
        return


def leave(
    *answers: StillLed | PeerError | None, story: Callable[[Scene], object] = lambda scene: None
) -> tuple[list[float], float]:
    """When the controller was asked, and when the broker had left, in seconds."""

    async def program(loop: VirtualLoop) -> tuple[list[float], float]:
        store = ProcessStore(_Memory(), lambda: 0)
        scene = Scene(loop, await store.session(), answers)
        story(scene)
        config = BrokerConfig({"request.timeout.ms": "30000"})
        await Departure(1, scene.ask, scene.cluster, scene.session, config).hand_over()
        took_s = loop.time()
        for promise in scene.open:
            promise.fail(GONE)  # the connection is closed in the end
        scene.session.resume()
        await store.close()
        return scene.asked_s, took_s

    return run_virtually(program)


def test_once_others_lead_everything_it_is_over() -> None:
    assert leave(StillLed()) == ([0], 0)


def test_alone_there_is_nobody_to_ask() -> None:
    assert leave(LED, story=lambda scene: scene.show(brokers=(1,), isr=(1,))) == ([], 0)


@pytest.mark.parametrize("answer", [LED, StillLed(ErrorCode.BROKER_NOT_AVAILABLE), GONE])
def test_without_success_it_is_asked_as_often_as_kafka_asks(answer: StillLed | PeerError) -> None:
    assert leave(answer) == ([0, PAUSE_S, 2 * PAUSE_S], 2 * PAUSE_S)


@pytest.mark.parametrize(
    "change",
    [
        lambda scene: scene.show(brokers=(1, 2), isr=(1,)),
        lambda scene: scene.show(brokers=(1, 2, 3), isr=(1,), controller=3),
        lambda scene: scene.show(brokers=(1, 2, 3), isr=(1, 2)),
    ],
    ids=["a broker has gone", "another decides", "somebody else is in sync"],
)
def test_what_may_bring_another_answer_is_not_waited_out(change: Callable[[Scene], None]) -> None:
    def story(scene: Scene) -> None:
        scene.after(1, lambda: scene.show(brokers=(1, 2, 3), isr=(1,)))  # nothing new
        scene.after(2, lambda: change(scene))

    assert leave(LED, StillLed(), story=story) == ([0, 2], 2)


def test_the_last_one_goes_when_the_others_have_gone() -> None:
    def story(scene: Scene) -> None:
        scene.after(1, lambda: scene.show(brokers=(1, 3), isr=(1,)))
        scene.after(1.5, lambda: scene.show(brokers=(1,), isr=(1,), controller=1))

    assert leave(LED, story=story) == ([0, 1], 1.5)


def test_a_controller_that_never_answers_is_waited_for_once() -> None:
    assert leave(NEVER) == ([0], REQUEST_S + 2 * PAUSE_S)


def test_without_the_store_nothing_is_waited_for_longer_than_a_pause() -> None:
    assert leave(NEVER, story=lambda scene: scene.session.suspend()) == ([0], PAUSE_S)
    assert leave(NEVER, story=lambda scene: scene.after(2, scene.session.suspend)) == ([0], PAUSE_S + 2)
