"""Share groups (KIP-932) in `__consumer_offsets`: members, assignments, and initialized share partitions."""
