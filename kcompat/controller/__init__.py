"""The controller: events in, effects out; nothing else writes partition state."""
