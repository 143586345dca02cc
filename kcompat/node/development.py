"""Certificates, users and ACLs for brokers that tests use, and the settings and files for their clients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from kcompat.config.development import BROKER_USER, with_security
from kcompat.errors import StartError, UsageError
from kcompat.security.added_users import AddedUser, is_utf8
from kcompat.security.client_settings import ClientAccess, ClientLogin
from kcompat.security.credentials import MIN_ITERATIONS, SCRAM_MECHANISMS
from kcompat.security.login_lines import PASSWORD_MECHANISMS
from kcompat.store.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.node.environment import Environment
    from kcompat.security.acls import Acl
    from kcompat.security.development import Authority
    from kcompat.store.interface import MetadataStore

CA_FILE: Final = "development-ca.pem"
"""Name of the file with the authority that clients trust, in the first data directory."""


class Development:
    """The security that a test asks for in a few arguments: added to the configuration of brokers, and to
    that of clients.
    """

    def __init__(
        self,
        *,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Acl] | None = None,
        has_peers: bool = False,
    ) -> None:
        """Make a certificate authority if `tls` is set. `users` are passwords by user, or None for a listener
        without SASL; `acls` are None for a broker without an authorizer. With `has_peers` there are several
        brokers.

        Raises:
            UsageError: a user name is not valid, or the extra `security` is missing.
        """
        for user, password in (users or {}).items():
            _check_user(user, password)
        self.users: Final = users
        """Passwords by user; None without SASL."""
        self._acls = acls
        self._has_peers = has_peers
        self._authority = _new_authority() if tls else None

    def secured(self, config: BrokerConfig) -> BrokerConfig:
        """Return a configuration with this security. Raises ConfigError."""
        return with_security(
            config,
            authority=self._authority,
            users=self.users,
            has_authorizer=self._acls is not None,
            has_peers=self._has_peers,
        )

    def scram_users(self) -> list[AddedUser]:
        """Return the credentials of the users for SCRAM, to be stored in the metadata store."""
        if not self.users:
            return []
        from kcompat.security.scram_keys import credential_of_password  # loads OpenSSL

        return [
            AddedUser(
                name,
                mechanism.name,
                credential_of_password(mechanism, password, MIN_ITERATIONS).format(),
                replaces=True,
            )
            for name, password in self.users.items()
            for mechanism in SCRAM_MECHANISMS
        ]

    def prepared(self, environment: Environment) -> Environment:
        """Return an environment whose store has the users and the ACLs before the first broker starts."""
        from kcompat.node.first_users import with_first_users
        from kcompat.node.prepared_store import with_prepared_store

        environment = with_first_users(environment, self.scram_users())
        return with_prepared_store(environment, self._add_acls) if self._acls else environment

    async def _add_acls(self, session: MetadataStore) -> None:
        from kcompat.security.acl_authorizer import AclAuthorizer
        from kcompat.security.acl_store import AclStore

        # Brokers beside others name the nodes as Kafka's do, see `AclStore`.
        store = AclStore(session, AclAuthorizer(), lambda: 0, escapes=not self._has_peers)
        await store.start()
        error = await store.add(self._acls or ())
        await store.stop()
        if error:
            raise StoreError(f"the ACLs cannot be stored: {error.name}")

    def write_ca(self, directory: str) -> str | None:
        """Write the certificate of the authority into a directory, and return the path of the file; None
        without TLS.

        Raises:
            StartError: the file cannot be written.
        """
        if self._authority is None:
            return None
        path = Path(directory) / CA_FILE
        try:
            path.write_text(self._authority.certificate, encoding="ascii")
        except OSError as error:
            raise StartError(f"{path} cannot be written: {error.strerror}") from error
        return str(path)

    def access(
        self, config: BrokerConfig, addresses: str, user: str | None, mechanism: str, listener: int = 0
    ) -> ClientAccess:
        """Return the addresses and credentials that a client needs to log in as a user at brokers with this
        configuration. `listener` is the index of the listener.

        Without SASL, the user authenticates by a certificate, which is written into the data directory.

        Raises:
            UsageError: there is no such user or mechanism, or a user is missing.
        """
        protocol, directory = config.listeners[listener].protocol, config.log_dirs[0]
        ca_file = None if self._authority is None else str(Path(directory) / CA_FILE)
        if self.users is not None:
            return ClientAccess(addresses, protocol, ca_file, login=self._login(user, mechanism))
        if user is None:
            return ClientAccess(addresses, protocol, ca_file)
        if self._authority is None:
            raise UsageError(f"clients cannot log in as {user!r}: give the broker users or tls=True")
        store = self._authority.client(user)
        path = client_file(directory, user, ".pem")
        write_secret(path, store.key + store.certificate)
        return ClientAccess(addresses, protocol, ca_file, str(path))

    def _login(self, user: str | None, mechanism: str) -> ClientLogin:
        assert self.users is not None
        if user is None and len(self.users) == 1:
            (user,) = self.users
        if user is None or user not in self.users:
            asked = "a user is missing" if user is None else f"there is no user {user!r}"
            raise UsageError(f"{asked}: the broker has {', '.join(map(repr, self.users)) or 'none'}")
        if mechanism not in PASSWORD_MECHANISMS:
            raise UsageError(
                f"there is no mechanism {mechanism!r}: use one of {', '.join(PASSWORD_MECHANISMS)}"
            )
        return ClientLogin(mechanism, user, self.users[user])


def client_file(directory: str, user: str | None, suffix: str) -> Path:
    """Return the path of the file of a client in a data directory, with or without a user."""
    owner = "" if user is None else "-" + quote(user, safe="")
    return Path(directory) / f"client{owner}{suffix}"


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read.

    Raises:
        StartError: the file cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o600)  # a file that was there may have another mode
            file.write(text)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}") from error


def _check_user(user: str, password: str) -> None:
    if not isinstance(user, str) or not user or user == BROKER_USER:
        raise UsageError(f"{user!r} is not a name that users can have: use one such as 'alice'")
    if not isinstance(password, str) or not password:
        raise UsageError(f"the password of {user!r} is not a text of one character or more")
    if not (is_utf8(user) and is_utf8(password)):
        raise UsageError(f"the name or the password of {user!r} has bytes that are not UTF-8")


def _new_authority() -> Authority:
    from kcompat.security.development import Authority  # needs the extra

    return Authority()
