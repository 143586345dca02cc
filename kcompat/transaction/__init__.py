"""The transaction coordinator: what becomes of each transactional id, as `__transaction_state` holds it."""
