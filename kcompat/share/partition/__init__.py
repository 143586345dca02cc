"""The state of a share partition on its leader: records in flight, their members and delivery counts."""
