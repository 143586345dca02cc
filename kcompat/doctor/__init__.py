"""`kcompat doctor`: connects to any Kafka broker as a client would, and names what is wrong and what to do.

The checks use the blocking client of `kcompat.admin`, and connections of their own for faults that prevent a
connection.
"""
