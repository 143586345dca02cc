"""Three to five whole brokers that replicate to each other, with everything against them, each story from a
seed.

Brokers are killed, lose their power, stop and start; their disks, of which each has one or two, become full
and fail, for a while or for good; links between them are cut and slowed, one way and both; the store is cut
off; topics are made, grown, moved and deleted. Meanwhile clients produce with acks=all,
consume and commit, in groups of every kind and groups that change their kind, share records out among the
members of a share group, and copy a topic in transactions that hold their offsets, dying in the middle of
them. What must hold at any moment is looked at all the time, and once all is healed: nothing acknowledged is
lost, nothing is doubled or out of order, the copy has each record once, no partition had two owners in a
generation, no record was shared out again after it was done with, each one was at least once, no transaction
is left open, and the replicas are alike to the last byte.

Each seed has two stories, one with all of these clients, and one of plain producers and consumers alone. That
takes a quarter of the time, so that more of them can be told of what befalls replicas.

`KCOMPAT_SEEDS` says how many stories of either kind are told; `KCOMPAT_FIRST_SEED` is the first one. A story
that ends badly ends with its transcript, and its seed tells it again: `KCOMPAT_FIRST_SEED=7 KCOMPAT_SEEDS=1`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cluster_story import tell
from support.recorded_files import memory_directory

FIRST_SEED = int(os.environ.get("KCOMPAT_FIRST_SEED", "0"))


def seeds(usually: int) -> range:
    """Return the seeds of the stories to run."""
    return range(FIRST_SEED, FIRST_SEED + int(os.environ.get("KCOMPAT_SEEDS", usually)))


TELL = """
import sys
from pathlib import Path
from support.cluster_story import tell
print("\\n".join(tell(Path(sys.argv[1]), sys.argv[2])))
"""

LEFT_BEHIND = """
import gc, sys
from pathlib import Path
from kcompat.node.broker import BrokerNode
from kcompat.replication.leading.leader import Leader
from support.cluster_story import tell
tell(Path(sys.argv[1]), sys.argv[2])
gc.collect()
print(sum(isinstance(left, BrokerNode | Leader) for left in gc.get_objects()))
"""


@pytest.mark.parametrize("seed", seeds(usually=120))
def test_whatever_happens_replicas_keep_every_promise(seed: int) -> None:
    with memory_directory() as home:
        tell(home / "story", str(seed), in_company=False)


@pytest.mark.parametrize("seed", seeds(usually=30))
def test_whatever_happens_coordinators_keep_every_promise(seed: int) -> None:
    with memory_directory() as home:
        tell(home / "story", str(seed))


def test_the_same_seed_tells_the_same_story_in_another_process(tmp_path: Path) -> None:
    """The digests in a transcript cover each byte that was sent and written."""
    here = tell(tmp_path / "here", "same")
    assert in_another_process(TELL, str(tmp_path / "there"), "same") == here


def test_a_story_that_is_over_leaves_no_broker_behind(tmp_path: Path) -> None:
    """Whatever a broker holds in a circle is seen by the collector: requests that still waited when it was
    killed, followers whose last answer was kept. In a process of its own: in this one pytest keeps what was
    logged, with its tracebacks.
    """
    assert in_another_process(LEFT_BEHIND, str(tmp_path / "story"), "gone") == ["0"]


def in_another_process(program: str, *arguments: str) -> list[str]:
    """The lines that a program printed."""
    tests = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)]),
        "PYTHONHASHSEED": "17",
    }
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()
