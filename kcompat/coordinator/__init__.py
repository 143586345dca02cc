"""The shared coordinator runtime: operations on replicated state, generic over what the state is."""
