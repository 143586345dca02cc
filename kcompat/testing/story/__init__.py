"""The report on a failing test, called its story: the requests of its clients, the broker's answers, and
probable causes.
"""
