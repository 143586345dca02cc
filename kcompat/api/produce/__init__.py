"""Produce (key 0), versions 0-13.

A request passes these steps in order; `production.py` has all of them except parts of `verify` and `accept`
- resolve: find the topic's name, from its id since version 13.
- admit: refuse topics that the client may not write to, and unknown values of `acks`.
- verify (`verification.py`): for batches of a transaction only, call the transaction's coordinator.
- accept (`acceptance.py`): check a batch, and convert or recompress it if the topic's configs require that.
- append: write the batch to the log of the partition's leader.
- wait: answer once the partitions are as far as `acks` requires.
`refusals.py` has the responses for batches that fail in one of the steps. `repeated.py` is a shortcut to the
append for a request that differs from an earlier one only in its batch.

Behaviour
- Partitions are independent: a refused batch does not affect the others. A partition that is named twice is
  written and answered once, with its last batch.
- acks=0 has no response. A failure closes the connection, the only error signal that Kafka gives.
- acks=1 is answered after the local append, acks=all once the high watermark has passed it or after the
  request's timeout. Both wait for the sync that the append requires (`flush.messages`).
- The client needs WRITE on each topic, and on the transactional id if a batch belongs to a transaction.
- The first batch of a transaction in a partition is appended once the transaction's coordinator has confirmed
  that the partition is in the transaction.
- Clients may not write to internal topics, except the client id that Kafka itself trusts (`__admin_client`).

Version notes
- 0, 1: messages of magic 0. 2: messages of magic 1. They are stored as one batch v2. A message set without a
  complete message stores nothing and is no error.
- 3: exactly one batch v2. 8: per-record errors and an error message (KIP-467).
- 10: the current leader, beside NOT_LEADER_OR_FOLLOWER (KIP-951).
- 11: TRANSACTION_ABORTABLE. 12: a write to a partition adds it to the transaction (KIP-890).
- 13: topics by id (KIP-516).
"""

from kcompat.api.produce.production import handle

__all__ = ["handle"]
