"""The transaction coordinator, which keeps the state of transactional ids in `__transaction_state`."""
