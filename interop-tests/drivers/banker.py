"""Moves money between accounts, each transfer a transaction of two records on one compacted partition.

    python banker.py BOOTSTRAP TOPIC NAME ACCOUNT...

Only this writer has these accounts, so that it knows their balances once it has read what is committed. A
record has the account as its key, and says: balance, name of the writer, number of its transfer. Each number
that is committed for certain is printed. It ends when something fails that an abort does not mend; whoever
watches it starts it again.
"""

from __future__ import annotations

import random
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

TIMEOUT_S = 8
STALLED_S = 12
"""After so long in one transfer the process ends: when its broker was killed, librdkafka now and then does
not come back from a call, though all its requests were answered."""
BEGINNING_S = 60
PAUSE_S = 0.02
PATIENT = {"socket.timeout.ms": 5_000, "retry.backoff.ms": 50, "reconnect.backoff.max.ms": 500}


class Banker:
    """One writer of transfers."""

    def __init__(self, bootstrap: str, topic: str, name: str, accounts: list[str]) -> None:
        self._bootstrap, self._topic, self._name = bootstrap, topic, name
        self._balances = dict.fromkeys(accounts, 0)
        self._number = 0
        self._producer = Producer(
            {
                **PATIENT,
                "bootstrap.servers": bootstrap,
                "transactional.id": name,
                "transaction.timeout.ms": 6_000,
                "linger.ms": 1,
            }
        )

    def run(self) -> None:
        """Transfer until the end of the process."""
        signal.alarm(BEGINNING_S)
        self._producer.init_transactions(BEGINNING_S)
        self._read()
        while True:
            signal.alarm(STALLED_S)
            self._transfer()
            time.sleep(PAUSE_S)

    def _consumer(self, isolation: str) -> Consumer:
        return Consumer(
            {
                **PATIENT,
                "bootstrap.servers": self._bootstrap,
                "group.id": self._name,
                "isolation.level": isolation,
                "enable.partition.eof": True,
            }
        )

    def _read(self) -> None:
        """The balances, and the number of the last transfer: all that this writer has done is over by now,
        but transactions of others may be open before it.
        """
        uncommitted = self._consumer("read_uncommitted")
        place = TopicPartition(self._topic, 0, 0)
        _, end = uncommitted.get_watermark_offsets(place, TIMEOUT_S)
        uncommitted.close()
        consumer = self._consumer("read_committed")
        consumer.assign([place])
        while True:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error() is None:
                self._learn(message.key().decode(), message.value().decode())
            elif message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
            if message.offset() >= end:
                consumer.close()
                return

    def _learn(self, account: str, value: str) -> None:
        """A committed record of anybody."""
        if account in self._balances:
            balance, _, number = value.split(",")
            self._balances[account] = int(balance)
            self._number = max(self._number, int(number))

    def _transfer(self) -> None:
        """One transaction; one of ten is aborted."""
        giver, taker = random.sample(sorted(self._balances), 2)
        amount = random.randint(1, 10)
        after = {giver: self._balances[giver] - amount, taker: self._balances[taker] + amount}
        try:
            self._producer.begin_transaction()
            for account, balance in after.items():
                value = f"{balance},{self._name},{self._number + 1}"
                self._producer.produce(self._topic, value, account, partition=0)
            if random.random() < 0.1:
                self._producer.flush(TIMEOUT_S)  # or nothing of it would be written
                self._producer.abort_transaction(TIMEOUT_S)
                return
            self._producer.commit_transaction(TIMEOUT_S)
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction(TIMEOUT_S)
            return
        self._balances |= after
        self._number += 1
        print(self._number, flush=True)


def main() -> None:
    """See the head of the file."""
    bootstrap, topic, name, *accounts = sys.argv[1:]
    Banker(bootstrap, topic, name, accounts).run()


if __name__ == "__main__":
    main()
