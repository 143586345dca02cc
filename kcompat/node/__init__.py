"""One broker put together: its parts, built, started and stopped in order. Nothing else knows them all."""
