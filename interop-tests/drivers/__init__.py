"""One driver per client library, all with the same operations, so that `contract.py` can say once what must work."""
