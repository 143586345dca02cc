"""Partitions and what waits on them: roles, high watermark, delayed operations, fetch sessions, the
controller.
"""
