"""Listeners and connections: whole frames to a handler, answers back in request order."""
