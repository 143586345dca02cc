"""Talking to other brokers: one small client for all there is to ask, and what asks through it."""
