"""The partitions of this broker and what waits on them: roles, high watermarks, delayed requests, fetch
sessions.
"""
