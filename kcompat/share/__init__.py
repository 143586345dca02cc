"""Share groups (KIP-932): the delivery of a partition's records to many members, and the storage of its
state.
"""
