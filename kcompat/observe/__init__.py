"""Metrics and health of a broker, for people and their tools.

All of it is attached to the `Hooks` of a broker from outside, and costs nothing where it is not attached.
"""
