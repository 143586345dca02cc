"""Properties of the compiled codec besides the bytes: items, defaults, and errors of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kcompat.protocol.message import decoder, encoder
from kcompat.protocol.messages.api_versions import ApiVersionsResponse
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.message import Message
    from kcompat.protocol.schema import Payload


class FileRange:
    """Stands for bytes that are sent from a file."""

    def __len__(self) -> int:
        return 300


def fetch_response(*records: Payload | None) -> FetchResponse:
    partitions = [FetchResponse.PartitionData(index, records=value) for index, value in enumerate(records)]
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=partitions)])


def test_message_without_records_is_one_item() -> None:
    assert len(MetadataRequest(None).encode(12)) == 1
    assert len(ProduceResponse().encode(9)) == 1
    assert len(fetch_response(None, b"").encode(12)) == 1


def test_records_are_passed_through_untouched() -> None:
    ranges = FileRange(), FileRange()
    items = fetch_response(ranges[0], None, ranges[1]).encode(12)
    assert [type(item) for item in items] == [bytes, FileRange, bytes, FileRange, bytes]
    assert items[1] is ranges[0]
    assert items[3] is ranges[1]
    assert items[0].endswith(bytes.fromhex("ffffffff ad02"))  # preferred replica, then varint 301


def test_records_last_leave_no_empty_item() -> None:
    items = fetch_response(FileRange()).encode(4)
    assert [type(item) for item in items] == [bytes, FileRange]


def test_decoded_records_are_a_slice_of_the_frame() -> None:
    frame = bytearray(b"".join(_produce(b"batch").encode(9)))
    message = ProduceRequest.decode(memoryview(frame), 9)
    records = message.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert bytes(records) == b"batch"


def _produce(records: bytes) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(0, records)
    return ProduceRequest(topic_data=[ProduceRequest.TopicProduceData("t", partition_data=[partition])])


def test_offset_and_trailing_bytes() -> None:
    wire = b"??" + b"".join(HeartbeatRequest("g", 3, "m").encode(4)) + b"!!"
    assert HeartbeatRequest.decode(memoryview(wire), 4, 2) == HeartbeatRequest("g", 3, "m")
    assert decoder(HeartbeatRequest, 4)(memoryview(wire), 2)[1] == len(wire) - 2


def test_fields_a_version_lacks_have_kafkas_defaults() -> None:
    request = FetchRequest.decode(memoryview(bytes.fromhex("ffffffff 00000000 00000001 00000000")), 0)
    assert request.max_bytes == 0x7FFFFFFF
    assert request.session_epoch == -1
    assert request.replica_state == FetchRequest.ReplicaState(-1, -1)
    response = MetadataResponse.decode(memoryview(bytes(8)), 0)
    assert response.controller_id == -1
    assert response.cluster_authorized_operations == -(2**31)
    assert MetadataRequest.decode(memoryview(bytes(4)), 0).allow_auto_topic_creation is True


def test_lists_are_not_shared_between_messages() -> None:
    first, second = FetchRequest(), FetchRequest.decode(memoryview(b"\0" * 16), 0)
    first.topics.append(FetchRequest.FetchTopic())
    second.forgotten_topics_data.append(FetchRequest.ForgottenTopic())
    assert FetchRequest().topics == []
    assert FetchRequest.decode(memoryview(b"\0" * 16), 0).forgotten_topics_data == []


def test_invalid_utf8_is_replaced() -> None:
    assert FindCoordinatorRequest.decode(memoryview(b"\0\2a\xff"), 0).key == "a\ufffd"
    long = b"\1\0" + b"\xff" * 256
    assert FindCoordinatorRequest.decode(memoryview(long), 0).key == "\ufffd" * 256


def test_an_ignorable_field_is_dropped() -> None:
    partition = ProduceResponse.PartitionProduceResponse(log_append_time_ms=5, log_start_offset=6)
    response = ProduceResponse(
        [ProduceResponse.TopicProduceResponse("t", partition_responses=[partition])], 7
    )
    decoded = ProduceResponse.decode(memoryview(response.encode(0)[0]), 0)
    assert decoded.throttle_time_ms == 0
    assert decoded.responses[0].partition_responses[0].log_append_time_ms == -1


@pytest.mark.parametrize(
    ("message", "version", "field"),
    [
        (ProduceRequest(transactional_id="tx"), 2, "ProduceRequest.transactional_id"),
        (FindCoordinatorRequest(key_type=1), 0, "FindCoordinatorRequest.key_type"),
        (FetchRequest(replica_state=FetchRequest.ReplicaState(1, 1)), 12, "FetchRequest.replica_state"),
        (FindCoordinatorRequest(coordinator_keys=["k"]), 3, "FindCoordinatorRequest.coordinator_keys"),
        (
            MetadataRequest(None, allow_auto_topic_creation=False),
            3,
            "MetadataRequest.allow_auto_topic_creation",
        ),
    ],
)
def test_a_value_that_would_be_lost_is_an_error(message: Message, version: int, field: str) -> None:
    with pytest.raises(ValueError, match=f"no place for {field}"):
        message.encode(version)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (MetadataRequest(None), 0),
        (HeartbeatRequest(None), 0),  # type: ignore[arg-type]
        (HeartbeatRequest("g", 2**31), 0),
        (HeartbeatRequest("g" * 40000), 0),
        (HeartbeatRequest(b"g"), 0),  # type: ignore[arg-type]
        (MetadataRequest([None]), 0),  # type: ignore[list-item]
        (MetadataRequest([MetadataRequest.MetadataRequestTopic(name=None)]), 9),
    ],
)
def test_a_value_no_version_can_carry_is_an_error(message: Message, version: int) -> None:
    with pytest.raises(ValueError, match="cannot write"):
        message.encode(version)


@pytest.mark.parametrize("uuid", [b"", bytes(15), bytes(17), "u" * 16, None])
def test_a_uuid_has_16_bytes(uuid: bytes) -> None:
    topic = MetadataRequest.MetadataRequestTopic(uuid)
    with pytest.raises(ValueError, match="cannot write MetadataRequest v12: "):
        MetadataRequest([topic]).encode(12)
    with pytest.raises(ValueError, match="cannot write FetchRequest v13: "):
        FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=uuid)]).encode(13)


def test_the_cause_of_an_error_is_kept() -> None:
    with pytest.raises(ValueError, match="cannot write HeartbeatRequest v0: ") as caught:
        HeartbeatRequest("\ud800").encode(0)
    assert isinstance(caught.value.__cause__, UnicodeEncodeError)


def test_other_errors_of_values_stay_what_they_are() -> None:
    class Broken:
        def __len__(self) -> int:
            raise KeyError("len")

    with pytest.raises(KeyError):
        fetch_response(Broken()).encode(12)


def test_anything_with_the_fields_is_written() -> None:
    class Heartbeat(HeartbeatRequest):
        pass

    class Alike(NamedTuple):
        group_id: str
        generation_id: int
        member_id: str
        group_instance_id: str | None = None

    for message in (Heartbeat("g", 3, "m"), Alike("g", 3, "m")):
        write: Callable[[Any], list[Any]] = encoder(HeartbeatRequest, 4)
        assert write(message) == HeartbeatRequest("g", 3, "m").encode(4)


def test_arrays_and_bytes_of_other_types_are_written() -> None:
    for names in (("a", "b"), {"a": 1, "b": 2}.keys()):
        topics = DeleteTopicsRequest(topic_names=names)  # type: ignore[arg-type]
        assert topics.encode(3) == DeleteTopicsRequest(topic_names=["a", "b"]).encode(3)
    for data in (bytearray(b"xy"), memoryview(b"xy")):
        written = SaslAuthenticateRequest(data).encode(2)  # type: ignore[arg-type]
        assert written == SaslAuthenticateRequest(b"xy").encode(2)


def test_a_long_message_is_one_item() -> None:
    topics = [f"topic-{number}" for number in range(5000)]
    [wire] = DeleteTopicsRequest(topic_names=topics).encode(3)
    assert len(wire) == 4 + sum(2 + len(name) for name in topics) + 4
    assert DeleteTopicsRequest.decode(memoryview(wire), 3).topic_names == topics


def test_a_long_tagged_field() -> None:
    names = [ApiVersionsResponse.SupportedFeatureKey("f" * 100, 1, 2) for _ in range(300)]
    response = ApiVersionsResponse(supported_features=names, finalized_features_epoch=5)
    [wire] = response.encode(3)
    assert ApiVersionsResponse.decode(memoryview(wire), 3) == response


def test_a_frame_of_bytes() -> None:
    frame = b"".join(_produce(b"batch").encode(9))
    message, end = decoder(ProduceRequest, 9)(frame, 0)  # type: ignore[arg-type]
    assert message == _produce(b"batch")
    assert end == len(frame)


def test_unknown_versions() -> None:
    for version in (-1, 14):
        with pytest.raises(ValueError, match="no version"):
            decoder(ProduceRequest, version)
        with pytest.raises(ValueError, match="no version"):
            encoder(ProduceRequest, version)


def test_compiled_once() -> None:
    assert decoder(ProduceRequest, 9) is decoder(ProduceRequest, 9)
    assert encoder(ProduceRequest, 9) is not encoder(ProduceRequest, 8)
