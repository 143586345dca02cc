"""A broker whose disk has failed tells the controller, here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster import znodes
from kcompat.controller.log_dir_reports import RETRY_MS, LogDirReports
from kcompat.controller.values import TopicSpec
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_controller_here_is_told_which_replicas_failed(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        spec = TopicSpec("t", assignments=[(0, [1, 2]), (1, [1, 2])])
        await answer(fixture.decisions.create_topics([spec]))
        reports = LogDirReports(1, fixture.session, fixture.controller_election, fixture.clock)
        reports.replicas_failed([("t", 0)])
        await answer(fixture.decisions.allocate_producer_ids())
        shown = fixture.broker.image.topics["t"].partitions
        assert [part.leader for part in shown.values()] == [2, 1]
        await reports.stop()


async def test_one_elsewhere_finds_a_notification(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await fixture.controller_election.stop()
        reports = LogDirReports(1, fixture.session, fixture.controller_election, fixture.clock)
        fixture.disk.full = True
        reports.replicas_failed([("t", 0)])
        reports.replicas_failed([("t", 1)])
        await fixture.until(lambda: fixture.clock.pending > 0)
        assert fixture.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
        fixture.disk.full = False
        fixture.clock.advance(RETRY_MS)
        await fixture.until(lambda: bool(fixture.paths(f"{znodes.LOG_DIR_EVENTS}/")))
        (left,) = fixture.paths(f"{znodes.LOG_DIR_EVENTS}/")
        data, _ = await fixture.session.get(left)
        assert znodes.decode_log_dir_event(data) == 1
        await reports.stop()


async def test_a_broker_that_is_gone_at_once_tries_no_more(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await fixture.controller_election.stop()
        reports = LogDirReports(1, fixture.session, fixture.controller_election, fixture.clock)
        fixture.disk.full = True
        reports.replicas_failed([("t", 0)])
        await fixture.until(lambda: fixture.clock.pending > 0)
        fixture.disk.full = False
        reports.abandon()
        assert fixture.clock.pending == 0
        fixture.clock.advance(RETRY_MS)
        assert fixture.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
        await reports.stop()
