"""The Kafka APIs: one handler module for each API key, the registry of served versions, and the
dispatcher.
"""
