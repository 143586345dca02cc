"""Quotas and SCRAM users as Java's `Admin` reads and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.admin.client import CONTROLLER
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.protocol.errors import ErrorCode
from kcompat.security.credentials import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.security.credentials import ScramMechanism


class Component(Struct, frozen=True):
    """Part of a quota entity, or of a filter of them: `user`, `client-id` or `ip`, and its name."""

    type: str
    name: str | None
    """None for the default entity."""
    any_name: bool = False
    """Whether the filter takes every name, the default entity too."""


class QuotaEntry(Struct, frozen=True):
    """The quotas of one entity; `entity` has the names by type, None for the default."""

    entity: dict[str, str | None]
    values: dict[str, float]


def describe_quotas(admin: AdminClient, components: Iterable[Component]) -> list[QuotaEntry]:
    """Return the quotas of the entities that have exactly these components. Raises JavaError."""
    from kcompat.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

    exact, default, any_name = 0, 1, 2
    rows = [
        DescribeClientQuotasRequest.ComponentData(
            each.type, any_name if each.any_name else default if each.name is None else exact, each.name
        )
        for each in components
    ]
    response = admin.ask(DescribeClientQuotasRequest(rows, strict=True), name="describeClientQuotas")
    raise_for(response.error_code, response.error_message)
    return [
        QuotaEntry(
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in response.entries or ()
    ]


def alter_quotas(
    admin: AdminClient, entity: Mapping[str, str | None], changes: Mapping[str, float | None]
) -> None:
    """Set quotas of an entity, or remove those whose value is None. Raises JavaError."""
    from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest

    parts = [AlterClientQuotasRequest.EntityData(kind, name) for kind, name in entity.items()]
    operations = [
        AlterClientQuotasRequest.OpData(key, value or 0.0, value is None) for key, value in changes.items()
    ]
    request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(parts, operations)])
    response = admin.ask(request, CONTROLLER, name="alterClientQuotas")
    for row in response.entries:
        raise_for(row.error_code, row.error_message)


def describe_scram_users(
    admin: AdminClient, users: Sequence[str]
) -> dict[str, list[tuple[str, int]] | JavaError]:
    """Return the mechanisms and iterations of each user, of all without names. Users that are not there are
    left out. Raises JavaError.
    """
    from kcompat.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

    names = [DescribeUserScramCredentialsRequest.UserName(user) for user in users] or None
    response = admin.ask(
        DescribeUserScramCredentialsRequest(names), CONTROLLER, name="describeUserScramCredentials"
    )
    raise_for(response.error_code, response.error_message)
    mechanisms = {each.type: each.name for each in SCRAM_MECHANISMS}
    found: dict[str, list[tuple[str, int]] | JavaError] = {}
    for row in response.results:
        if row.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if row.error_code:
            found[row.user] = error_of_code(row.error_code, row.error_message)
        else:
            found[row.user] = [
                (mechanisms.get(each.mechanism, "UNKNOWN"), each.iterations) for each in row.credential_infos
            ]
    return found


def alter_scram_user(
    admin: AdminClient,
    user: str,
    passwords: Mapping[ScramMechanism, tuple[int, str]],
    removed: Iterable[ScramMechanism],
) -> None:
    """Set a user's credentials, from iterations and a password, and remove others. Raises JavaError."""
    import secrets

    from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
    from kcompat.security.scram_keys import salted_password

    set_ = []
    for mechanism, (iterations, password) in passwords.items():
        salt = secrets.token_bytes(24)
        salted = salted_password(mechanism, password, salt, iterations)
        set_.append(
            AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                user, mechanism.type, iterations, salt, salted
            )
        )
    deleted = [
        AlterUserScramCredentialsRequest.ScramCredentialDeletion(user, mechanism.type)
        for mechanism in removed
    ]
    request = AlterUserScramCredentialsRequest(deleted, set_)
    response = admin.ask(request, CONTROLLER, name="alterUserScramCredentials")
    for row in response.results:
        raise_for(row.error_code, row.error_message)
