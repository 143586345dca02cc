"""The leader of a partition: its high watermark, its followers, and the changes of its ISR."""
