"""Count what an authorizer with 1,000 ACLs costs a small request, in instructions of the broker.

    python bench/permissions.py

Times do not show it: the cost is smaller than what differs from run to run. See `instructions.py`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop-tests"))

import frames
import peers
import restart
from generator import Generator
from instructions import ROOT, TOPIC, Counted, Measure, cost

from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from support.raw_client import request_frame

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

FEW, MANY = 300, 1300
ACLS: Final = 1000
GROUP: Final = "bench-group"
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
TOPICS, GROUPS, CLUSTER = 2, 3, 4
LITERAL, PREFIXED = 3, 4
EVERYTHING, READ, ALLOW = 2, 3, 3
CLIENT: Final = "User:ANONYMOUS"


def requests() -> dict[str, bytes]:
    """Return the frame of a small request of each API that clients send again and again."""
    listed = ListOffsetsRequest.ListOffsetsTopic(TOPIC, [ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)])
    committed = OffsetCommitRequest.OffsetCommitRequestTopic(
        TOPIC, partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)]
    )
    wanted = [MetadataRequest.MetadataRequestTopic(name=TOPIC)]
    small: dict[str, tuple[Message, int]] = {
        "Metadata": (MetadataRequest(wanted, allow_auto_topic_creation=False), 9),
        "ListOffsets": (ListOffsetsRequest(-1, 0, [listed]), 5),
        "OffsetCommit": (OffsetCommitRequest(GROUP, topics=[committed]), 7),
    }
    framed = {
        name: request_frame(request, version, correlation_id=1, client_id="bench")
        for name, (request, version) in small.items()
    }
    return framed | {
        "Produce": frames.produce(TOPIC, 0, records=1, size=100),
        "Fetch": frames.fetch(TOPIC, 0, 1),
    }


def acls() -> CreateAclsRequest:
    """Return a request for the ACLs: the client's own, and those of many users on as many topics."""

    def acl(kind: int, name: str, who: str, operation: int, pattern: int = LITERAL) -> object:
        return CreateAclsRequest.AclCreation(kind, name, pattern, who, "*", operation, ALLOW)

    own = [
        acl(CLUSTER, "kafka-cluster", CLIENT, EVERYTHING),
        acl(TOPICS, TOPIC, CLIENT, EVERYTHING),
        acl(GROUPS, GROUP, CLIENT, EVERYTHING),
    ]
    others = [
        acl(TOPICS, f"topic-{number}", f"User:user-{number % 50}", READ, PREFIXED if number % 5 else LITERAL)
        for number in range(ACLS - len(own))
    ]
    return CreateAclsRequest(creations=[*own, *others])  # type: ignore[list-item]


def main() -> None:
    """Count each request and print a line for it."""
    if shutil.which("valgrind") is None:
        sys.exit("permissions: valgrind is not installed, and nothing else counts instructions")
    print(f"{'each':<14} {'1,000 ACLs':>12} {'none':>12}  ratio")
    with tempfile.TemporaryDirectory(prefix="kcompat-bench-") as directory:
        generator = Generator(Path(directory))
        for name, frame in requests().items():
            ruled, free = (_cost(frame, generator, has_acls=has_acls) for has_acls in (True, False))
            print(f"{name:<14} {ruled:>12.0f} {free:>12.0f}  {ruled / free:.3f}", flush=True)


def _cost(frame: bytes, generator: Generator, *, has_acls: bool) -> float:
    measure = Measure(partial(_load, frame=frame, has_acls=has_acls), FEW, MANY)
    properties = {**restart.PROPERTIES, **(AUTHORIZER if has_acls else {})}
    return cost(measure, generator, partial(Counted, ROOT, properties), partitions=1)


def _load(broker: Counted, generator: Generator, count: int, *, frame: bytes, has_acls: bool) -> None:
    generator.run(
        broker.port, [frames.produce(TOPIC, 0, records=1, size=100)], connections=1, depth=1, count=1
    )
    with peers.client(broker) as client:
        if has_acls:
            answer = client.call(acls(), 3)
            assert {row.error_code for row in answer.results} == {0}
        client.call(FindCoordinatorRequest(key=GROUP, key_type=0), 2)
    generator.run(broker.port, [frame], connections=1, depth=1, count=count)


if __name__ == "__main__":
    main()
