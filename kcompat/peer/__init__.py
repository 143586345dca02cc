"""Connections to other brokers: one client for every kind of request, and the components that send requests
through it.
"""
