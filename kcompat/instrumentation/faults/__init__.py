"""Simulated faults: failed, late and lost answers, failed disks, expired members.

`requests` has the faults of requests, with one file for each kind (`fail`, `delay`, `drop`, `disconnect`,
`throttle`). Each is an interceptor that exists only while the fault is active, so faults cost nothing
otherwise.
"""
