"""Dump of a log directory's files for people: their content, and what is wrong with it (Kafka's
`kafka.tools.DumpLogSegments`).
"""
