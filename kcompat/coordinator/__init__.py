"""The runtime of all coordinators: runs operations on replicated state of any type."""
