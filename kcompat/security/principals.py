"""Principals: the identities that connections are authenticated as (Kafka's `KafkaPrincipal`)."""

from __future__ import annotations

from msgspec import Struct

USER = "User"
"""The type of every principal that Kafka's own authentication makes."""


class Principal(Struct, frozen=True, gc=False):
    """Type and name of an authenticated client, and whether it logged in with a delegation token."""

    type: str
    name: str
    token_authenticated: bool = False

    def __str__(self) -> str:
        """Return the principal in the form of ACLs, `super.users` and Kafka's logs, such as `User:alice`."""
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""The principal of a client that does not authenticate."""
