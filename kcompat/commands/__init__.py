"""Kafka's commands without a JVM: one module a command, imported when the command line names it.

Each has a function `run(arguments)` that returns the exit code, and takes the flags of Kafka's script.
`table` names them.
"""
