"""One driver per client library, all with the operations that `contract.py` asks for."""
