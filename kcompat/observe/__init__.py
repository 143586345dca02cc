"""Metrics and health of a broker, for people and their tools.

It is attached to the `Hooks` of a broker, and costs nothing for a broker without it.
"""
