"""Reading a log directory's files for people: what stands in them, and what is wrong with them
(`kafka.tools.DumpLogSegments`).
"""
