"""The share coordinator: what share partitions have delivered, kept in `__share_group_state`."""
