"""Copies a topic to another, partition by partition, in transactions that hold the offsets as well.

    python copier.py BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID RECORDS [NAME=VALUE ...]

The settings are those of the consumer; without any it is a classic member of its group. At most RECORDS go in
one transaction, and a line is printed for each that is committed for certain; who aborts begins again where
the group was. It ends when something else fails, and whoever watches it starts it again. Told to end by
SIGTERM it leaves its group after the transaction that it is in.
"""

from __future__ import annotations

import signal
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

TIMEOUT_S = 8
STALLED_S = 12
"""After so long in one transaction the process ends: when its broker was killed, librdkafka often does not
come back from `send_offsets_to_transaction`. AddOffsetsToTxn was answered, and it sends no TxnOffsetCommit;
it does the same with a real Kafka."""
CLASSIC = {
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 500,
    "partition.assignment.strategy": "range",
}
PATIENT = {"socket.timeout.ms": 10_000, "retry.backoff.ms": 50, "reconnect.backoff.max.ms": 500}


class Copier:
    """One member of the group."""

    def __init__(
        self, bootstrap: str, source: str, target: str, group: str, name: str, records: str, *settings: str
    ) -> None:
        self._target, self._records = target, int(records)
        self._consumer = Consumer(
            {
                **PATIENT,
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                **(dict(setting.split("=", 1) for setting in settings) or CLASSIC),
            }
        )
        self._producer = Producer(
            {
                **PATIENT,
                "bootstrap.servers": bootstrap,
                "transactional.id": name,
                "transaction.timeout.ms": 10_000,
                "linger.ms": 1,
            }
        )
        self._source = source
        self._goes_on = True

    def run(self) -> None:
        """Copy until told to end."""
        self._producer.init_transactions(60)
        self._consumer.subscribe([self._source])
        while self._goes_on:
            records = [each for each in self._consumer.consume(self._records, 0.2) if each.error() is None]
            signal.alarm(STALLED_S if records else 0)
            if records and not self._copy(records):
                self._rewind()
        self._consumer.close()

    def end(self, *_: object) -> None:
        """Copy no more than what is on its way."""
        self._goes_on = False

    def _copy(self, records: list) -> bool:
        """One transaction; False if it was aborted."""
        positions: dict[int, int] = {}
        try:
            self._producer.begin_transaction()
            for record in records:
                self._produce(record)
                positions[record.partition()] = record.offset() + 1
            offsets = [TopicPartition(self._source, *place) for place in positions.items()]
            member = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(offsets, member, TIMEOUT_S)
            self._producer.commit_transaction(TIMEOUT_S)
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction(TIMEOUT_S)
            return False
        print(positions, flush=True)
        return True

    def _produce(self, record) -> None:
        while True:
            try:
                self._producer.produce(self._target, record.value(), partition=record.partition())
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _rewind(self) -> None:
        """Go back to what the group has committed."""
        assigned = self._consumer.assignment()
        for place in self._consumer.committed(assigned, TIMEOUT_S) if assigned else ():
            place.offset = max(place.offset, 0)
            self._consumer.seek(place)


def main() -> None:
    """See the head of the file."""
    copier = Copier(*sys.argv[1:])
    signal.signal(signal.SIGTERM, copier.end)
    copier.run()


if __name__ == "__main__":
    main()
