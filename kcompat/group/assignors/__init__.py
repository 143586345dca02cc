"""Server-side assignors: pure functions from members, subscriptions and targets to the next targets."""
