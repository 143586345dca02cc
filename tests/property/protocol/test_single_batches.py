"""The single batch of a Produce is found alike by both implementations, and only if a decoder reads it so."""

from __future__ import annotations

import random

import pytest

from kcompat.protocol.messages.produce import ProduceRequest
from support.codecs import CODECS, PYTHON
from support.fuzzing import exact, examples
from support.raw_client import request_frame

from .test_codecs_agree import SEED, Maker

ROUNDS = examples(1000)


def made_up(dice: random.Random, version: int) -> bytes:
    """The frame of a Produce, most with one batch."""
    maker = Maker(dice)
    rows = [
        ProduceRequest.PartitionProduceData(
            dice.choice([0, 7]), dice.choice([b"", b"b" * 9, b"c" * 130, None])
        )
        for _ in range(dice.choice([1, 1, 1, 1, 2, 0]))
    ]
    topic = ProduceRequest.TopicProduceData(dice.choice(["t", "", "x" * 130]), bytes(16), rows)
    request = ProduceRequest(
        transactional_id=dice.choice([None, None, None, "", "id"]),
        acks=dice.choice([-1, 0, 1]),
        timeout_ms=dice.choice([0, 1000]),
        topic_data=[topic] * dice.choice([1, 1, 1, 1, 2, 0]),
    )
    client_id = dice.choice([None, "", "me", "y" * 200])
    frame = request_frame(request, version, dice.choice([1, 2]), client_id)[4:]
    return frame if dice.random() < 0.5 else maker.damage(frame)


@pytest.mark.parametrize("version", range(3, 14))
def test_whoever_looks_finds_what_a_decoder_reads(version: int) -> None:
    dice = random.Random(f"{SEED} {version}")
    meanings: dict[bytes, object] = {}
    for _ in range(ROUNDS):
        frame = exact(made_up(dice, version))
        found = [codec.find_single_batch(frame, version) for codec in CODECS]
        assert found.count(found[0]) == len(found), (SEED, version, frame.hex())
        if found[0] is None:
            continue
        head, start, end = found[0]
        _, client_id, body = PYTHON.read_request_header(frame, 2 if version >= 9 else 1)
        request, _ = PYTHON.compile_decoder(ProduceRequest, version)(frame, body)
        (topic,) = request.topic_data
        (row,) = topic.partition_data
        assert row.records == frame[start:end], (SEED, version, frame.hex())
        assert request.transactional_id is None
        meaning = (client_id, request.acks, request.timeout_ms, topic.name, topic.topic_id, row.index)
        assert meanings.setdefault(head, meaning) == meaning, (SEED, version, frame.hex())
    assert meanings
