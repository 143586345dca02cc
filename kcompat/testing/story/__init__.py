"""The story of a failing test: what its clients asked a broker, what they got, and what may be wrong."""
