"""Client quotas: which limit holds for a client, rates against it, and throttle times. Pure; times are
arguments.
"""
