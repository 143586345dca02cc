"""The SCRAM credentials of users in the metadata image, and the secret behind the decoys of unknown users."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kcompat.cluster.config_entities import USERS, parts_of
from kcompat.security.credentials import (
    MIN_ITERATIONS,
    SCRAM_MECHANISMS,
    ScramCredential,
    ScramIdentity,
)
from kcompat.security.principals import USER, Principal
from kcompat.store.interface import NodeExistsError, parent_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from kcompat.cluster.config_entities import Entity
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.security.credentials import ScramMechanism
    from kcompat.store.interface import MetadataStore

_log = logging.getLogger(__name__)

DECOY_KEY_PATH: Final = "/kcompat/decoy_key"
DECOY_KEY_BYTES: Final = 32


class ScramUsers:
    """Users with SCRAM credentials, parsed when they change, so that a login only looks one up."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._users: dict[str, dict[str, ScramIdentity]] = {each.name: {} for each in SCRAM_MECHANISMS}
        self._iterations: dict[str, Counter[int]] = {each.name: Counter() for each in SCRAM_MECHANISMS}
        self._changed(metadata.image.entity_configs)
        metadata.subscribe_to_configs(self._changed)

    def find(self, mechanism: ScramMechanism, name: str) -> ScramIdentity | None:
        """Return the user of this name; None if there is no valid credential for the mechanism."""
        return self._users[mechanism.name].get(name)

    def usual_iterations(self, mechanism: ScramMechanism) -> int:
        """Return the number of iterations that most users have; Kafka's default if there are no users."""
        iterations = self._iterations[mechanism.name]
        return max(iterations, key=lambda each: (iterations[each], each), default=MIN_ITERATIONS)

    def names(self) -> list[str]:
        """Return the names of all users with a credential, in ascending order."""
        return sorted({name for users in self._users.values() for name in users})

    def _changed(self, changed: Mapping[Entity, Mapping[str, str]]) -> None:
        for entity, configs in changed.items():
            if entity[0] == USERS and "/" not in entity[1]:
                ((_, name),) = parts_of(entity)
                if name is not None:
                    for mechanism in SCRAM_MECHANISMS:
                        self._set(mechanism, name, configs.get(mechanism.name))

    def _set(self, mechanism: ScramMechanism, name: str, text: str | None) -> None:
        """Replace the credential of a user; one that Kafka would not let log in counts as absent."""
        users, iterations = self._users[mechanism.name], self._iterations[mechanism.name]
        former = users.pop(name, None)
        if former is not None:
            iterations -= Counter([former.credential.iterations])  # drops a count of zero
        credential = _parsed(mechanism, name, text)
        if credential is not None:
            users[name] = ScramIdentity(Principal(USER, name), credential)
            iterations[credential.iterations] += 1


def _parsed(mechanism: ScramMechanism, name: str, text: str | None) -> ScramCredential | None:
    if text is None:
        return None
    try:
        credential = ScramCredential.parse(text)
    except ValueError as error:
        _log.warning("the %s credential of user %s is not used: %s", mechanism.name, name, error)
        return None
    if credential.iterations < MIN_ITERATIONS:
        _log.warning("the %s credential of user %s has too few iterations", mechanism.name, name)
        return None
    return credential


class DecoyKey:
    """The secret from which the salts of unknown users are computed, once it has been read or created.

    Every broker must show the same salt, also after a restart, or a client could tell unknown users from
    known ones. Kafka has no such node; its brokers ignore it.
    """

    def __init__(self, store: MetadataStore, random: Random) -> None:
        self._store = store
        self._random = random
        self.value = b""

    async def read(self) -> None:
        """Read the secret, or store a new one. Raises the store's errors."""
        for path, data in (
            (parent_of(DECOY_KEY_PATH), b""),
            (DECOY_KEY_PATH, self._random.randbytes(DECOY_KEY_BYTES)),
        ):
            with suppress(NodeExistsError):
                await self._store.create(path, data)
        self.value, _ = await self._store.get(DECOY_KEY_PATH)
