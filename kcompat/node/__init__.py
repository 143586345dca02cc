"""The assembly of one broker: its parts are built, started and stopped in order. No other package knows all
of them.
"""
