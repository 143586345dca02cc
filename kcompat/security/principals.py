"""Principals: the identities that connections are authenticated as (Kafka's `KafkaPrincipal`)."""

from __future__ import annotations

from msgspec import Struct

USER = "User"
"""The type of every principal that Kafka's own authentication makes."""


class Principal(Struct, frozen=True, gc=False):
    """The type and the name of a client, and whether it logged in with a delegation token."""

    type: str
    name: str
    token_authenticated: bool = False

    def __str__(self) -> str:
        """Return the principal as ACLs, `super.users` and Kafka's logs write it, such as `User:alice`."""
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""The principal of a client that does not authenticate."""
