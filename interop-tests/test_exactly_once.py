"""A topic copied in transactions, and money moved in them, by processes that are killed, over brokers that
are killed.

`KCOMPAT_COPIED=100000` copies that many records instead of a few, `KCOMPAT_TRANSFERS=200` has each banker
make so many transfers between two accidents, `KCOMPAT_KILLS=10` kills as often.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest

from accidents import PATIENCE_S, Brokers, one_broker, three_brokers
from banking import Bank, Bankers
from copying import Source, copied, copiers, is_settled, read_committed
from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.thorough("test_transactional_clients.py kills copiers and brokers")

RECORDS = int(os.environ.get("KCOMPAT_COPIED", "6000"))
TRANSFERS = int(os.environ.get("KCOMPAT_TRANSFERS", "5"))
KILLS = int(os.environ.get("KCOMPAT_KILLS", "2"))
PER_TRANSACTION = 750 if RECORDS >= 50_000 else 100
COPIERS = 3
LASTS_S = PATIENCE_S * max(1, KILLS // 2)
SETTINGS = {
    "transaction.state.log.num.partitions": "5",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "offsets.topic.num.partitions": "5",
    "log.cleaner.backoff.ms": "500",
}
KINDS = {1: one_broker, 3: three_brokers}


@pytest.fixture(scope="module", params=KINDS)
def brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    """One broker, or three over a ZooKeeper."""
    with KINDS[request.param](SETTINGS) as running:
        yield running


@pytest.mark.timeout(2 * LASTS_S + 60)
def test_each_record_is_copied_once_and_in_order(brokers: Brokers, tmp_path: Path) -> None:
    choice = random.Random(7)
    source = Source(brokers.bootstrap, ["target"])
    source.add(RECORDS)
    step = RECORDS // (2 * KILLS + 1)
    programs = copiers(brokers.bootstrap, tmp_path, COPIERS, PER_TRANSACTION)
    accidents = [programs.accident, brokers.accident] * KILLS
    so_far, next_at = 0, step
    try:
        patience = Patience(LASTS_S)
        while so_far < source.count or accidents or not is_settled(brokers.bootstrap, "target"):
            assert patience.lasts, f"{so_far} of {source.count} are copied\n{programs.errors()}"
            if accidents and so_far >= next_at:
                accidents.pop()(choice)
                next_at = so_far + step
            if accidents and source.count - so_far < 2 * step:
                source.add(2 * step)  # they are quicker than the accidents
            programs.tend()
            time.sleep(0.1)
            so_far = copied(brokers.bootstrap, "copiers")
    finally:
        programs.close()
    assert read_committed(brokers.bootstrap, "target") == source.rows
    print(f"\n{source.count} records, {2 * KILLS} accidents, {programs.left()}")


@pytest.mark.timeout(2 * LASTS_S + 60)
def test_no_money_is_made_or_lost(brokers: Brokers, tmp_path: Path) -> None:
    choice = random.Random(11)
    bank = Bank(brokers.bootstrap)
    bankers = Bankers(brokers.bootstrap, tmp_path)
    try:
        for accident in [bankers.accident, brokers.accident] * KILLS:
            accident(choice)
            bankers.go_on(TRANSFERS)
            assert sum(bank.snapshot().balances.values()) == bank.total
    finally:
        bankers.close()
    known, patience = bankers.known(), Patience(PATIENCE_S)
    # What was committed last may stand behind transactions that are open until they have timed out.
    while any((snapshot := bank.snapshot()).numbers[name] < number for name, number in known.items()):
        assert patience.lasts, f"what was committed is lost: {known} became {snapshot.numbers}"
    while bank.snapshot().records >= 2 * sum(known.values()):
        assert patience.lasts, "nothing is compacted"
    assert sum(bank.snapshot().balances.values()) == bank.total
    print(f"\n{sum(known.values())} transfers, {2 * KILLS} accidents, {bankers.left()}")
