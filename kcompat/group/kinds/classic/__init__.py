"""Classic groups: members elect a protocol, and their leader assigns."""
