"""The share coordinator, which keeps the delivery state of share partitions in `__share_group_state`."""
