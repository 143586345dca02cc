"""Faults on purpose: answers that fail, come late or never, disks that fail, members that expire.

`requests` has the faults of requests, one file a kind (`fail`, `delay`, `drop`, `disconnect`, `throttle`).
Each is an interceptor that exists only while the fault is in force, so a broker without faults pays nothing.
"""
