"""`kcompat doctor`: connects to any Kafka broker as a client would, and names what is wrong and what to do.

The checks use the blocking client of `kcompat.admin`, and sockets of their own for what keeps a client out.
"""
