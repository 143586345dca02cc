"""Share groups (KIP-932) in `__consumer_offsets`: their members, who is to fetch from what, and which share
partitions have begun.
"""
