"""Sentences about what may be wrong in a test, each where its mistake was made and not elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.instrumentation.faults.reports import FaultReport
from kcompat.instrumentation.groups import Group, GroupMember
from kcompat.instrumentation.recording.entry import ConnectionEvent
from kcompat.instrumentation.recording.exchange import RecordedEvent
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from kcompat.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcompat.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcompat.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcompat.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kcompat.testing.story.causes import causes
from kcompat.testing.story.evidence import Evidence
from support.recorded_requests import recorded, topic

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.entry import RecordedRequest

END = -1
BEGIN = -2


def metadata(
    name: str, error: ErrorCode, *, may_create: bool = True, client: str = "orders"
) -> RecordedRequest:
    wanted = [MetadataRequest.MetadataRequestTopic(name=name)]
    row = MetadataResponse.MetadataResponseTopic(name=name, error_code=error)
    return recorded(
        MetadataRequest(topics=wanted, allow_auto_topic_creation=may_create),
        MetadataResponse(topics=[row]),
        client_id=client,
        version=4,
    )


def evidence(*requests: RecordedRequest, **rest: object) -> Evidence:
    return Evidence("localhost:9092", list(requests), **rest)  # type: ignore[arg-type]


def list_offsets(timestamp: int, offset: int) -> RecordedRequest:
    asked = ListOffsetsRequest.ListOffsetsPartition(timestamp=timestamp)
    row = ListOffsetsResponse.ListOffsetsPartitionResponse(offset=offset)
    return recorded(
        ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[asked])]),
        ListOffsetsResponse(
            topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[row])]
        ),
        version=1,
    )


def fetch(offset: int) -> RecordedRequest:
    partition = FetchRequest.FetchPartition(fetch_offset=offset)
    return recorded(
        FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[partition])]),
        FetchResponse(),
        version=4,
    )


def test_nothing_is_wrong_where_everything_was_answered() -> None:
    asked = metadata("t", ErrorCode.NONE)
    assert causes(evidence(asked, topics={"t": topic("t", 0)})) == []


def test_a_complaint_names_the_client_and_the_reason_once() -> None:
    text = "connection closed: the client speaks TLS, and this listener does not"
    complaint = ConnectionEvent(RecordedEvent(0, "complaint", "10.0.0.7", text=text), 0)
    [sentence] = causes(evidence(complaints=[complaint, complaint]))
    assert sentence == (
        "The broker closed a connection from 10.0.0.7: the client speaks TLS, and this listener does not. "
        "Take the client's settings from the fixture kafka_client_config, or from broker.client_config()."
    )


def test_a_topic_that_the_broker_does_not_create() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    [sentence] = causes(evidence(asked, asked, creates_topics=False))
    assert sentence == (
        "Topic t, which orders asked for, does not exist, and the broker does not create topics by itself "
        "(auto.create.topics.enable=false): create it before."
    )


def test_a_topic_that_does_not_exist_where_the_broker_would_create_it() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    for creates_topics in (True, None):
        [sentence] = causes(evidence(asked, creates_topics=creates_topics))
        assert sentence == "Topic t, which orders asked for, does not exist: create it before."


def test_a_topic_that_exists_by_nearly_the_same_name() -> None:
    asked = metadata("ordres", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, may_create=False)
    [sentence] = causes(evidence(asked, topics={"orders": topic("orders", 0)}))
    assert sentence == "Topic ordres, which orders asked for, does not exist: did you mean orders?"


def fault(asked: RecordedRequest, **rest: object) -> FaultReport:
    """A fault that struck a request."""
    exchanges = frozenset({(asked.peer, asked.correlation_id)})
    return FaultReport("A fault", "answered", 0.0, None, 1, exchanges=exchanges, **rest)  # type: ignore[arg-type]


def test_the_answer_of_a_fault_is_no_sign_of_a_mistake() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert causes(evidence(asked, creates_topics=False, faults=[fault(asked, makes_answers=True)])) == []
    late = fault(asked)
    assert len(causes(evidence(asked, creates_topics=False, faults=[late]))) == 1


def test_a_storage_error_is_explained_by_a_fault_of_the_disk() -> None:
    refused = init(ErrorCode.KAFKA_STORAGE_ERROR)
    full = FaultReport("the disk is full", "caused", 0.0, None, 1, is_of_disk=True)
    assert len(causes(evidence(refused))) == 1
    assert causes(evidence(refused, faults=[full])) == []


def test_a_transaction_whose_end_a_fault_answered_is_not_called_open() -> None:
    produce = recorded(ProduceRequest(transactional_id="tx"), ProduceResponse(), version=3, port=2)
    end = recorded(EndTxnRequest(transactional_id="tx", committed=True), EndTxnResponse(error_code=14))
    assert causes(evidence(produce, end, faults=[fault(end, makes_answers=True)])) == []


def test_clients_of_earlier_tests_are_left_out() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert causes(evidence(others=[asked])) == []


def test_a_login_at_a_listener_without_logins() -> None:
    asked = recorded(SaslHandshakeRequest("PLAIN"), SaslHandshakeResponse(error_code=34), version=1)
    [sentence] = causes(evidence(asked))
    assert sentence.startswith("client wants to log in by SASL, and listener PLAINTEXT has no logins: leave")


def test_a_member_that_expired_because_the_clock_was_moved() -> None:
    asked = [join("a", "a-id"), heartbeat("a", "a-id")]
    assert causes(evidence(*asked, groups={"g": group("Empty")})) == []
    assert causes(evidence(*asked, groups={"g": group("Empty")}, ahead_s=3600.0)) != []
    [sentence] = causes(evidence(*asked, ahead_s=3600.0))
    assert sentence == (
        "a is no member of group g any more: its session has ended, as the clock of the broker was moved "
        "ahead (by 1:00:00 in all)."
    )


def test_a_topic_that_no_client_wanted_to_be_created() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, may_create=False)
    [sentence] = causes(evidence(asked))
    assert "no client asked to create it" in sentence


def test_a_topic_that_came_later_is_not_missing() -> None:
    asked = metadata("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert causes(evidence(asked, topics={"t": topic("t", 0)})) == []
    assert causes(evidence(asked, metadata("t", ErrorCode.NONE))) == []


def test_a_batch_that_is_too_large() -> None:
    partition = ProduceRequest.PartitionProduceData(records=b"")
    row = ProduceResponse.PartitionProduceResponse(error_code=ErrorCode.MESSAGE_TOO_LARGE)
    asked = recorded(
        ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])]),
        ProduceResponse(
            responses=[ProduceResponse.TopicProduceResponse(name="t", partition_responses=[row])]
        ),
        version=8,
    )
    limits: dict[str, str | None] = {"max.message.bytes": "1000"}
    [sentence] = causes(evidence(asked, topics={"t": topic("t", 0, configs=limits)}))
    assert sentence == (
        "A batch that client produced is too large for t-0, which allows batches of 1000 bytes "
        "(max.message.bytes): MESSAGE_TOO_LARGE."
    )


def join(client: str, member: str, *, is_waiting: bool = False, group: str = "g") -> RecordedRequest:
    response = None if is_waiting else JoinGroupResponse(member_id=member, generation_id=1)
    return recorded(JoinGroupRequest(group_id=group, member_id=member), response, client_id=client, version=4)


def heartbeat(client: str, member: str) -> RecordedRequest:
    return recorded(
        HeartbeatRequest(group_id="g", member_id=member), HeartbeatResponse(), client_id=client, version=3
    )


def group(state: str, group_id: str = "g", **assignments: dict[str, list[int]]) -> Group:
    members = [
        GroupMember(f"{client}-id", client, "/127.0.0.1", assignment=assignment)
        for client, assignment in assignments.items()
    ]
    return Group(group_id, "classic", state, "consumer", "range", -1, members, [])


def test_a_member_that_does_not_join_again_keeps_the_others_waiting() -> None:
    sentence, *more = causes(
        evidence(
            join("new", "new-id", is_waiting=True),
            earlier=[heartbeat("old", "old-id")],
            groups={"g": group("PreparingRebalance", old={"t": [0]}, new={})},
        )
    )
    assert more == []
    assert sentence.startswith(
        "new waits for partitions, because old (since an earlier test) is still a member of group g and "
        "does not join again. Close every consumer at the end of its test"
    )


def test_a_member_without_partitions_is_told_who_has_them() -> None:
    [sentence] = causes(
        evidence(join("a", "a-id"), join("b", "b-id"), groups={"g": group("Stable", a={"t": [0, 1]}, b={})})
    )
    assert sentence.startswith(
        "b has no partition in group g, which has 2 members for 2 partitions: t-0, t-1 by a."
    )


def test_a_member_of_an_earlier_test_without_partitions_is_left_out() -> None:
    assert (
        causes(
            evidence(
                join("a", "a-id"),
                earlier=[heartbeat("b", "b-id")],
                groups={"g": group("Stable", a={"t": [0, 1]}, b={})},
            )
        )
        == []
    )


def test_groups_of_clients_that_do_nothing_new_are_left_out() -> None:
    both = {"g": group("Stable", a={"t": [0]}, b={}), "own": group("Stable", "own", c={"t": [0]})}
    asked = [heartbeat("a", "a-id"), join("c", "c-id", group="own")]
    assert causes(evidence(*asked, groups=both)) == []


def test_a_reader_that_begins_at_the_end() -> None:
    asked = [list_offsets(END, 3), fetch(3), fetch(4)]
    [sentence] = causes(evidence(*asked, heartbeat("client", "m"), topics={"t": topic("t", 4)}))
    assert sentence == (
        "client began to read t-0 at its end, offset 3, so it skipped 3 records: its group had no committed "
        "offset there, and auto.offset.reset is latest. Set auto.offset.reset=earliest."
    )
    [sentence] = causes(evidence(*asked, topics={"t": topic("t", 4)}))
    assert "3 records: it has no group, so no committed offset, and auto.offset.reset is latest." in sentence


def test_other_questions_about_offsets_are_no_mistake() -> None:
    topics = {"t": topic("t", 3)}
    assert causes(evidence(list_offsets(BEGIN, 0), fetch(0), topics=topics)) == []
    assert causes(evidence(list_offsets(END, 3), fetch(0), topics=topics)) == []
    assert causes(evidence(list_offsets(END, 3), topics=topics)) == []
    assert causes(evidence(list_offsets(END, 0), fetch(0), topics=topics)) == []


def init(error: ErrorCode) -> RecordedRequest:
    return recorded(InitProducerIdRequest(transactional_id="tx"), InitProducerIdResponse(error_code=error))


def test_a_transaction_that_does_not_end_or_is_aborted() -> None:
    produce = recorded(ProduceRequest(transactional_id="tx"), ProduceResponse(), client_id="shop", version=3)

    def end(committed: bool) -> RecordedRequest:
        return recorded(
            EndTxnRequest(transactional_id="tx", committed=committed), EndTxnResponse(), client_id="shop"
        )

    [sentence] = causes(evidence(end(committed=True), produce))
    assert sentence.startswith("shop has not ended its transaction tx: consumers with read_committed")
    [sentence] = causes(evidence(produce, end(committed=False)))
    assert sentence.startswith("shop aborted the last transaction of tx: consumers with read_committed")
    assert causes(evidence(produce, end(committed=True))) == []


def test_a_member_that_left_before_the_test_failed_is_told_what_it_missed() -> None:
    def sync(client: str, *partitions: int) -> RecordedRequest:
        rows = [ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=list(partitions))]
        assigned = ConsumerProtocolAssignment(assigned_partitions=rows)
        response = SyncGroupResponse(assignment=b"\0\0" + b"".join(map(bytes, assigned.encode(0))))
        return recorded(
            SyncGroupRequest(group_id="g", member_id=f"{client}-id"), response, client_id=client, version=3
        )

    left = [LeaveGroupRequest.MemberIdentity(member_id="a-id")]
    requests = [join("a", "a-id"), join("b", "b-id"), sync("a", 0), sync("b")]
    leave = recorded(
        LeaveGroupRequest(group_id="g", members=left), LeaveGroupResponse(), client_id="a", version=5
    )
    [sentence] = causes(evidence(*requests, leave, sync("b", 0), groups={"g": group("Empty")}))
    assert sentence.startswith(
        "b has no partition in group g, which has 2 members for 1 partition: t-0 by a."
    )


def test_a_refusal_counts_until_the_same_request_succeeds() -> None:
    refused = init(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    [sentence] = causes(evidence(init(ErrorCode.NONE), refused))
    assert sentence.startswith(
        "InitProducerId of client, which is User:ANONYMOUS, was refused: TRANSACTIONAL_ID"
    )
    assert causes(evidence(refused, init(ErrorCode.NONE))) == []
    assert causes(evidence(init(ErrorCode.NOT_COORDINATOR))) == []
