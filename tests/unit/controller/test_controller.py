"""The controller with a store and a broker that does as it is told."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import TYPE_CHECKING, Self, TypeVar

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.news import LeaderAndIsr, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.cluster.process_store import ProcessStore
from kcompat.cluster.sqlite_journal import SqliteJournal
from kcompat.cluster.store import StoreUnavailableError
from kcompat.cluster.znodes import BrokerRegistration, DamagedZnodeError, ProducerIdBlock
from kcompat.config.broker import BrokerConfig
from kcompat.config.feed import ConfigFeed
from kcompat.controller import election, loading
from kcompat.controller.controller import Controller
from kcompat.controller.creation import CreateTopics
from kcompat.controller.decisions import Decisions
from kcompat.controller.election import BrokerIdInUseError, ControllerElsewhereError
from kcompat.controller.producer_ids import ProducerIds
from kcompat.controller.values import Outcome, PartitionsSpec, TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.news import AssignedPartition, News
    from kcompat.cluster.tree import Node
    from kcompat.controller.channels import Answered, PartitionErrors
    from kcompat.controller.state import ControllerState, Decision
    from kcompat.controller.values import TopicResult
    from kcompat.promise import Promise

T = TypeVar("T")

REGISTRATION = BrokerRegistration({"PLAINTEXT": ("h", 9092)}, {"PLAINTEXT": "PLAINTEXT"})


async def answer(promise: Promise[T]) -> T:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    return await asyncio.wait_for(future, 10)


class FakeBroker:
    """Takes every role, but for partitions in `broken`. It answers at once, or when the test says so."""

    def __init__(self) -> None:
        self.cluster = MetadataCache("the-cluster")
        self.roles: dict[tuple[str, int], AssignedPartition] = {}
        self.deleted: list[tuple[str, int]] = []
        self.broken: set[tuple[str, int]] = set()
        self.bugs: dict[type, Exception] = {}
        self.held: list[Callable[[], None]] | None = None

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    def give(self, news: News, answered: Answered) -> None:
        if type(news) in self.bugs:
            raise self.bugs[type(news)]
        if self.held is None:
            answered(self._failed(news))
        else:
            self.held.append(lambda: answered(self._failed(news)))

    def _failed(self, news: News) -> PartitionErrors:
        match news:
            case LeaderAndIsr(partitions):
                for part in partitions:
                    self.roles[part.topic, part.index] = part
                return self._errors(
                    [(part.topic, part.index) for part in partitions if part.role.leader >= 0]
                )
            case StopReplica(stopped):
                self.deleted += [partition for partition in stopped if partition not in self.broken]
                return self._errors(stopped)
            case UpdateMetadata() | UpdateConfigs():
                self.cluster.hear(news)
                return {}

    def _errors(self, partitions: Sequence[tuple[str, int]]) -> PartitionErrors:
        return {each: ErrorCode.KAFKA_STORAGE_ERROR for each in partitions if each in self.broken}

    def release(self) -> None:
        """Do and answer what was held, and from now on at once."""
        held, self.held = self.held, None
        for act in held or ():
            act()


class SmallDisk(SqliteJournal):
    """A journal on a disk that can be full."""

    full = False

    async def write(self, zxid: int, staged: dict[str, Node | None]) -> None:
        if self.full:
            raise StoreUnavailableError("the disk is full")
        await super().write(zxid, staged)


class World:
    """One broker's controller over a store that can be closed and opened again."""

    def __init__(self, path: Path, config: dict[str, str] | None = None, *others: int) -> None:
        """`others` are ids of brokers that are live when the controller starts, and reachable."""
        self.path = path
        self.others = {broker_id: FakeBroker() for broker_id in others}
        self.config = ConfigFeed(BrokerConfig(config or {}))
        self.clock = VirtualClock()
        self.broker = FakeBroker()

    async def __aenter__(self) -> Self:
        self.disk = SmallDisk(self.path)
        self.store = ProcessStore(self.disk, self.clock.now_ms)
        self.session = await self.store.session()
        await loading.prepare(self.session)
        if await loading.cluster_id(self.session) is None:
            await self.session.create(znodes.CLUSTER_ID, znodes.encode_cluster_id("the-cluster"))
        assert await loading.cluster_id(self.session) == "the-cluster"
        for broker_id in self.others:
            await election.register_broker(await self.store.session(), broker_id, REGISTRATION, 0)
        brokers = {1: self.broker, **self.others}
        self.controller = Controller(1, self.session, brokers, self.clock)
        self.decisions = Decisions(self.controller.submit, 1, self.config, Random(1))
        self.producer_ids = ProducerIds(self.decisions.allocate_producer_ids)
        await self.controller.start(REGISTRATION)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.broker.image.check_invariants()
        self.store.tree.check_invariants()
        await self.controller.stop()
        await self.store.close()

    async def loaded(self) -> ControllerState:
        """What a controller that starts now would find."""
        epoch, _ = await self.session.get("/controller_epoch")
        return await loading.load(self.session, 1, int(epoch), 0)

    def paths(self, under: str) -> list[str]:
        return sorted(path for path in self.store.tree.nodes if path.startswith(under))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metadata.db"


async def test_a_new_cluster_has_one_broker_which_is_its_controller(path: Path) -> None:
    async with World(path) as world:
        image = world.broker.image
        assert (image.cluster_id, image.controller_id) == ("the-cluster", 1)
        assert image.brokers[1].endpoints == {"PLAINTEXT": ("h", 9092)}
        data, stat = await world.session.get("/controller")
        assert json.loads(data)["brokerid"] == 1
        assert stat.ephemeral_owner == world.session.session_id
        _, stat = await world.session.get("/brokers/ids/1")
        assert (await world.loaded()).brokers[1].epoch == stat.czxid


async def test_topics_configs_and_epochs_survive_a_restart(path: Path) -> None:
    async with World(path) as world:
        specs = [TopicSpec("t", 2, 1, configs=[("retention.ms", "5")]), TopicSpec("u", 1, 1)]
        created = await answer(world.decisions.create_topics(specs))
        await answer(world.decisions.create_partitions([PartitionsSpec("t", 3)]))
        await answer(world.decisions.set_configs("brokers", "<default>", {"num.io.threads": "3"}))
        before = await world.loaded()
    async with World(path) as world:
        image = world.broker.image
        assert {name: topic.topic_id for name, topic in image.topics.items()} == {
            result.name: result.topic_id for result in created
        }
        after = await world.loaded()
        assert after.epoch == before.epoch + 1
        assert after.brokers[1].epoch > before.brokers[1].epoch
        assert [part.leader_epoch for part in image.topics["t"].partitions] == [1, 1, 1]
        assert image.configs("topics", "t") == {"retention.ms": "5"}
        assert image.configs("brokers", "<default>") == {"num.io.threads": "3"}
        assert sorted(world.broker.roles) == [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
        assert world.broker.roles["t", 0].role.leader == 1


async def test_a_deleted_topic_leaves_no_node_behind(path: Path) -> None:
    async with World(path) as world:
        empty = world.paths("/")
        await answer(world.decisions.create_topics([TopicSpec("t", 2, 1)]))
        outcomes = await answer(world.decisions.delete_topics(["t", "none"]))
        assert outcomes == {"t": Outcome(), "none": Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
        assert world.broker.deleted == [("t", 0), ("t", 1)]
        assert world.paths("/") == empty
        (again,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert again.error is ErrorCode.NONE


async def test_an_unfinished_deletion_is_finished_by_the_next_start(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1), TopicSpec("u", 1, 1)]))
        world.broker.broken = {("t", 0)}
        outcomes = await answer(world.decisions.delete_topics(["t"]))
        assert outcomes == {"t": Outcome(ErrorCode.REQUEST_TIMED_OUT)}
        (refused,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert refused.message == "Topic 't' is marked for deletion."
        assert await answer(world.decisions.ensure_topics(["t"])) == {"t": ErrorCode.NONE}
        assert "t" not in world.broker.image.topics
    async with World(path) as world:
        assert list(world.broker.image.topics) == ["u"]
        assert world.broker.deleted == [("t", 0)]
        assert ("topics", "t") not in world.broker.image.entity_configs
        assert world.paths("/brokers/topics/t") == []
        assert world.paths("/admin/delete_topics/") == []
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE


async def test_a_partition_whose_log_cannot_be_made_has_no_leader(path: Path) -> None:
    async with World(path) as world:
        world.broker.broken = {("t", 1)}
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 2, 1)]))
        assert created.error is ErrorCode.NONE
        assert [part.leader for part in world.broker.image.topics["t"].partitions] == [1, -1]
        await answer(world.decisions.replicas_failed([("t", 0)]))
        assert [part.leader for part in world.broker.image.topics["t"].partitions] == [-1, -1]
    async with World(path) as world:
        assert [part.leader for part in world.broker.image.topics["t"].partitions] == [1, 1]
        assert [part.leader_epoch for part in world.broker.image.topics["t"].partitions] == [2, 2]


async def test_automatic_topics(path: Path) -> None:
    settings = {
        "num.partitions": "3",
        "offsets.topic.num.partitions": "5",
        "auto.create.topics.enable": "true",
    }
    async with World(path, settings) as world:
        errors = await answer(world.decisions.ensure_topics(["t", "__consumer_offsets", "a b"]))
        assert errors == {
            "t": ErrorCode.NONE,
            "__consumer_offsets": ErrorCode.NONE,
            "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }
        image = world.broker.image
        assert len(image.topics["t"].partitions) == 3
        offsets = image.topics["__consumer_offsets"]
        assert (len(offsets.partitions), offsets.replication_factor, offsets.is_internal) == (5, 1, True)
        assert image.configs("topics", "__consumer_offsets") == {
            "cleanup.policy": "compact",
            "segment.bytes": "104857600",
            "compression.type": "producer",
        }
        assert await answer(world.decisions.ensure_topics(["t"])) == {"t": ErrorCode.NONE}
        assert image is world.broker.image


async def test_configs_of_a_topic_that_is_not_there(path: Path) -> None:
    async with World(path) as world:
        error = await answer(world.decisions.set_configs("topics", "t", {"retention.ms": "5"}))
        assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_configs_made_from_others_than_there_are_do_not_replace_them(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        first = world.decisions.set_configs("topics", "t", {"retention.ms": "5"}, basis={})
        second = world.decisions.set_configs("topics", "t", {"segment.ms": "6"}, basis={})
        assert await answer(first) is ErrorCode.NONE
        assert await answer(second) is ErrorCode.INVALID_UPDATE_VERSION
        assert world.broker.image.configs("topics", "t") == {"retention.ms": "5"}


async def test_producer_ids_are_never_given_twice(path: Path) -> None:
    async with World(path) as world:
        assert await answer(world.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 0, 999)
        assert await answer(world.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 1000, 1999)
        assert await answer(world.producer_ids.next()) == 2000
    async with World(path) as world:
        assert await answer(world.producer_ids.next()) == 3000
        assert await answer(world.producer_ids.next()) == 3001


async def test_a_second_broker_of_the_same_id_and_a_second_controller_are_refused(path: Path) -> None:
    async with World(path) as world:
        other = await world.store.session()
        same_id = Controller(1, other, {1: FakeBroker()}, world.clock)
        with pytest.raises(BrokerIdInUseError, match="broker id 1 is in use"):
            await same_id.start(REGISTRATION)
        with pytest.raises(ControllerElsewhereError):
            await Controller(2, other, {2: FakeBroker()}, world.clock).start(REGISTRATION)


async def test_a_controller_that_was_replaced_writes_nothing_and_resigns(path: Path) -> None:
    async with World(path) as world:
        other = await world.store.session()
        await other.set("/controller_epoch", b"9")
        before = world.paths("/")
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NOT_CONTROLLER
        assert world.paths("/") == before
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NOT_CONTROLLER


async def test_a_store_that_cannot_write_refuses_and_recovers(path: Path) -> None:
    async with World(path) as world:
        world.disk.full = True
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.KAFKA_STORAGE_ERROR
        assert await answer(world.producer_ids.next()) is None
        world.disk.full = False
        assert "t" not in world.broker.image.topics
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert await answer(world.producer_ids.next()) == 0


class Broken(CreateTopics):
    """An event with bugs: nothing can be decided on it, nor can it be refused."""

    def decide(self, state: ControllerState) -> Decision[list[TopicResult]]:
        raise ZeroDivisionError("decide")

    def refused(self, error: ErrorCode) -> list[TopicResult]:
        raise ZeroDivisionError(f"refused {error.name}")


def broken(*_: object) -> None:
    raise ZeroDivisionError("a callback")


async def test_an_event_that_cannot_be_decided_nor_refused_fails_alone(path: Path) -> None:
    async with World(path) as world:
        event = Broken([TopicSpec("t", 1, 1)], False, world.config, Random(1))
        failing = world.controller.submit(event)
        behind = world.decisions.create_topics([TopicSpec("u", 1, 1)])
        with pytest.raises(ZeroDivisionError, match="refused UNKNOWN_SERVER_ERROR"):
            await answer(failing)
        assert (await answer(behind))[0].error is ErrorCode.NONE


async def test_an_answer_that_raises_does_not_end_the_controller(path: Path) -> None:
    async with World(path) as world:
        world.decisions.create_topics([TopicSpec("t", 1, 1)]).then(broken)
        behind = world.decisions.create_topics([TopicSpec("u", 1, 1)])
        assert (await answer(behind))[0].error is ErrorCode.NONE


async def test_all_who_wait_are_refused_at_a_stop_though_one_of_them_raises(path: Path) -> None:
    async with World(path) as world:
        world.decisions.create_topics([TopicSpec("t", 1, 1)])
        await asyncio.sleep(0)  # the event is in hand now
        broken_event = Broken([TopicSpec("u", 1, 1)], False, world.config, Random(1))
        failing = world.controller.submit(broken_event)
        world.decisions.create_topics([TopicSpec("v", 1, 1)]).then(broken)
        last = world.decisions.create_topics([TopicSpec("w", 1, 1)])
        await world.controller.stop()
        assert last.value[0].error is ErrorCode.NOT_CONTROLLER
        late = world.controller.submit(broken_event)
        for promise in (failing, late):
            with pytest.raises(ZeroDivisionError, match="refused NOT_CONTROLLER"):
                _ = promise.value


async def test_a_stopped_controller_refuses(path: Path) -> None:
    async with World(path) as world:
        first = world.decisions.create_topics([TopicSpec("t", 1, 1)])
        await asyncio.sleep(0)  # the event is in hand now
        second = world.decisions.create_topics([TopicSpec("u", 1, 1)])
        await world.controller.stop()
        assert first.value[0].error is ErrorCode.NONE
        assert second.value[0].error is ErrorCode.NOT_CONTROLLER
        assert world.decisions.delete_topics(["t"]).value["t"].error is ErrorCode.NOT_CONTROLLER


async def test_a_damaged_node_is_named(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        await world.session.set("/brokers/topics/t/partitions/0/state", b"{}")
        with pytest.raises(DamagedZnodeError, match=r"^/brokers/topics/t/partitions/0/state: "):
            await loading.load(world.session, 1, 1, 1)


# -- answers that are late, missing or wrong


async def test_an_event_is_answered_when_the_broker_has_answered_and_others_go_on_meanwhile(
    path: Path,
) -> None:
    async with World(path) as world:
        world.broker.held = []
        creation = world.decisions.create_topics([TopicSpec("t", 1, 1)])
        assert await answer(world.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 0, 999)
        assert "/brokers/topics/t" in world.paths("/")
        assert not creation.done
        assert "t" not in world.broker.image.topics
        world.broker.release()
        assert (await answer(creation))[0].error is ErrorCode.NONE
        assert "t" in world.broker.image.topics


async def test_a_deletion_ends_with_the_brokers_answer(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        world.broker.held = []
        deletion = world.decisions.delete_topics(["t"])
        again = world.decisions.create_topics([TopicSpec("t", 1, 1)])
        assert (await answer(again))[0].message == "Topic 't' is marked for deletion."
        assert not deletion.done
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
        world.broker.release()
        assert await answer(deletion) == {"t": Outcome()}
        assert world.paths("/admin/delete_topics/") == []


async def test_an_answer_goes_before_what_is_asked_next(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        deletion = world.decisions.delete_topics(["t"])
        creation = world.decisions.create_topics([TopicSpec("t", 2, 1)])
        assert (await answer(creation))[0].error is ErrorCode.NONE
        assert deletion.value == {"t": Outcome()}


async def test_who_waits_for_a_broker_that_never_answers_is_told_at_the_stop(path: Path) -> None:
    async with World(path) as world:
        world.broker.held = []
        creation = world.decisions.create_topics([TopicSpec("t", 1, 1)])
        await answer(world.decisions.allocate_producer_ids())
        await world.controller.stop()
        assert creation.value[0].error is ErrorCode.REQUEST_TIMED_OUT
        world.broker.release()  # too late: nothing follows from it
        assert world.broker.image.topics == {}


async def test_an_answer_that_comes_after_a_resignation_is_nobodys(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        world.broker.held = []
        deletion = world.decisions.delete_topics(["t"])
        await answer(world.decisions.allocate_producer_ids())
        other = await world.store.session()
        await other.set("/controller_epoch", b"9")
        (created,) = await answer(world.decisions.create_topics([TopicSpec("u", 1, 1)]))
        assert created.error is ErrorCode.NOT_CONTROLLER
        assert deletion.value == {"t": Outcome(ErrorCode.REQUEST_TIMED_OUT)}
        before = world.paths("/")
        world.broker.release()
        await asyncio.sleep(0)
        assert world.paths("/") == before
        assert world.broker.deleted == []


@pytest.mark.parametrize("kind", [LeaderAndIsr, UpdateMetadata, UpdateConfigs])
async def test_a_broker_that_raises_harms_only_what_it_was_told(path: Path, kind: type) -> None:
    async with World(path) as world:
        world.broker.bugs[kind] = ZeroDivisionError("a bug")
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 2, 1)]))
        assert created.error is ErrorCode.NONE
        leaders = [part.leader for part in (await world.loaded()).topics["t"].partitions]
        assert leaders == ([-1, -1] if kind is LeaderAndIsr else [1, 1])
        world.broker.bugs.clear()
        (created,) = await answer(world.decisions.create_topics([TopicSpec("u", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert world.broker.image.topics["u"].partitions[0].leader == 1


async def test_a_topic_whose_broker_raises_on_deletion_stays_marked(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        world.broker.bugs[StopReplica] = ZeroDivisionError("a bug")
        outcomes = await answer(world.decisions.delete_topics(["t"]))
        assert outcomes == {"t": Outcome(ErrorCode.REQUEST_TIMED_OUT)}
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_nobody_waits_for_a_silent_broker_elsewhere(path: Path) -> None:
    async with World(path, {}, 2) as world:
        silent = world.others[2]
        silent.held = []
        spec = TopicSpec("t", assignments=[(0, [2, 1])])
        (created,) = await answer(world.decisions.create_topics([spec]))
        assert created.error is ErrorCode.NONE
        assert world.broker.image.topics["t"].partitions[0].leader == 2
        assert await answer(world.decisions.delete_topics(["t"])) == {"t": Outcome()}
        assert world.broker.deleted == [("t", 0)]
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
        silent.release()
        await answer(world.decisions.allocate_producer_ids())
        assert silent.deleted == [("t", 0)]
        assert world.paths("/admin/delete_topics/") == []
        assert silent.image.topics == world.broker.image.topics == {}


async def test_a_broker_elsewhere_that_fails_loses_its_leaders_alone(path: Path) -> None:
    async with World(path, {}, 2) as world:
        world.others[2].bugs[LeaderAndIsr] = ZeroDivisionError("a bug")
        spec = TopicSpec("t", assignments=[(0, [2, 1]), (1, [1, 2])])
        (created,) = await answer(world.decisions.create_topics([spec]))
        assert created.error is ErrorCode.NONE
        await answer(world.decisions.allocate_producer_ids())
        assert [part.leader for part in (await world.loaded()).topics["t"].partitions] == [-1, 1]


async def test_a_store_that_fails_between_the_steps_of_a_deletion(path: Path) -> None:
    async with World(path) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        world.broker.held = []
        deletion = world.decisions.delete_topics(["t"])
        await answer(world.decisions.allocate_producer_ids())
        world.disk.full = True
        world.broker.release()
        assert await answer(deletion) == {"t": Outcome(ErrorCode.KAFKA_STORAGE_ERROR)}
        world.disk.full = False
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
    async with World(path) as world:
        assert world.paths("/admin/delete_topics/") == []
