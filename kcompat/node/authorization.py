"""The authorizer of a broker, as its configuration names it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.config.java_text import trim
from kcompat.errors import ConfigError
from kcompat.security.authorizer import AllowEverything
from kcompat.security.principals import USER

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig
    from kcompat.security.authorizer import Authorizer

_log = logging.getLogger(__name__)

SUPER_USERS: Final = "super.users"
WITHOUT_ACLS: Final = "allow.everyone.if.no.acl.found"


def authorizer_of(config: BrokerConfig) -> Authorizer:
    """Return the authorizer that `authorizer.class.name` names; if it is empty, one that allows everything.

    Raises:
        ConfigError: a super user is not of the form `User:name`.
    """
    if not config.string("authorizer.class.name"):
        return AllowEverything()
    super_users = [user for user in map(trim, config.static.get(SUPER_USERS, "").split(";")) if user]
    for user in super_users:
        kind, colon, _ = user.partition(":")
        if not colon or not kind:
            raise ConfigError(
                f"{SUPER_USERS} has {user!r}, which is not a principal such as User:admin; "
                "several are separated by semicolons"
            )
        if any(trim(part).startswith(f"{USER}:") for part in user.split(",")[1:]):
            _log.warning(
                "%s has %r, which is one super user: separate several by semicolons instead of commas",
                SUPER_USERS,
                user,
            )
    from kcompat.security.acl_authorizer import AclAuthorizer  # late: most brokers have no ACLs

    allows = trim(config.static.get(WITHOUT_ACLS, "")).lower() == "true"
    return AclAuthorizer(super_users, allows_without_acls=allows)
