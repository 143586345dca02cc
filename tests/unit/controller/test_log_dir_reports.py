"""A broker whose disk has failed tells the controller, here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.controller.log_dir_reports import RETRY_MS, LogDirReports
from kcompat.controller.values import TopicSpec
from support.controller_world import ControllerWorld, answer

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_controller_here_is_told_which_replicas_failed(path: Path) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        spec = TopicSpec("t", assignments=[(0, [1, 2]), (1, [1, 2])])
        await answer(world.decisions.create_topics([spec]))
        reports = LogDirReports(1, world.session, world.candidacy, world.clock)
        reports.replicas_failed([("t", 0)])
        await answer(world.decisions.allocate_producer_ids())
        shown = world.broker.image.topics["t"].partitions
        assert [part.leader for part in shown.values()] == [2, 1]
        await reports.stop()


async def test_one_elsewhere_finds_a_notification(path: Path) -> None:
    async with ControllerWorld(path) as world:
        await world.candidacy.stop()
        reports = LogDirReports(1, world.session, world.candidacy, world.clock)
        world.disk.full = True
        reports.replicas_failed([("t", 0)])
        reports.replicas_failed([("t", 1)])
        await world.until(lambda: world.clock.pending > 0)
        assert world.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
        world.disk.full = False
        world.clock.advance(RETRY_MS)
        await world.until(lambda: bool(world.paths(f"{znodes.LOG_DIR_EVENTS}/")))
        (left,) = world.paths(f"{znodes.LOG_DIR_EVENTS}/")
        data, _ = await world.session.get(left)
        assert znodes.decode_log_dir_event(data) == 1
        await reports.stop()


async def test_a_broker_that_is_gone_at_once_tries_no_more(path: Path) -> None:
    async with ControllerWorld(path) as world:
        await world.candidacy.stop()
        reports = LogDirReports(1, world.session, world.candidacy, world.clock)
        world.disk.full = True
        reports.replicas_failed([("t", 0)])
        await world.until(lambda: world.clock.pending > 0)
        world.disk.full = False
        reports.abandon()
        assert world.clock.pending == 0
        world.clock.advance(RETRY_MS)
        assert world.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
        await reports.stop()
