"""Partitions and what waits on them: roles, high watermark, delayed requests, fetch sessions, the
controller.
"""
