"""Produce (key 0), versions 0-13.

The way of a request, in order; `production.py` has every step but the second half of `accept`
- resolve: find the topic's name, from its id since version 13.
- admit: refuse topics that the client may not write to, and values of `acks` that do not exist.
- verify (`verification.py`): only for batches of a transaction, ask the transaction's coordinator.
- accept (`acceptance.py`): check a batch, and convert or recompress it where the topic asks for that.
- append: write the batch to the log of the partition's leader.
- wait: answer once the partitions are as far as `acks` asks.
`refusals.py` has the answers for batches that fail on this way. `repeated.py` is a shorter way to the append
for a request that differs from an earlier one only in its batch.

Behaviour
- Each partition stands alone: one refused batch does not touch the others. A partition named twice is
  written and answered once, with its last batch, be it in one entry of its topic or in two.
- acks=0 has no answer; a failure then closes the connection, the only signal Kafka gives.
- acks=1 is answered after the local append, acks=all once the high watermark has passed it or after the
  request's timeout; neither before the sync that the append waits for (`flush.messages`).
- A topic needs WRITE, and so does the transactional id of a batch that belongs to a transaction.
- The first batch of a transaction in a partition is appended once the transaction's coordinator has said that
  it has the partition.
- Clients may not write internal topics, except the one Kafka itself trusts (`__admin_client`).

Version notes
- 0, 1: messages of magic 0, 2: of magic 1, stored as one batch v2. A set without one whole message
  stores nothing and is no error.
- 3: exactly one batch v2. 8: per-record errors and an error message (KIP-467).
- 10: the current leader, beside NOT_LEADER_OR_FOLLOWER (KIP-951).
- 11: TRANSACTION_ABORTABLE. 12: partitions are added to the transaction by being written to (KIP-890).
- 13: topics by id (KIP-516).
"""

from kcompat.api.produce.production import handle

__all__ = ["handle"]
