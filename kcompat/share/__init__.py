"""Share groups (KIP-932): records of a partition handed out to many members, and where that is remembered."""
