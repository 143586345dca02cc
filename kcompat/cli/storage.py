"""`kcompat container storage`: what start scripts of Kafka's images ask of `kafka-storage`.

The broker keeps its metadata itself, so there is nothing to format. The users of `--add-scram` are put into
the metadata of a new cluster.
"""

from __future__ import annotations

import argparse
import asyncio
from random import SystemRandom
from typing import TYPE_CHECKING, Final

from kcompat.cli.process_title import hide
from kcompat.protocol.uuids import random_uuid, uuid_to_text
from kcompat.security.added_users import added_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.security.added_users import AddedUser

_NOTHING: Final = "kafka-storage: nothing to do, the broker keeps its metadata itself"


def run(words: Sequence[str], read_config: Callable[[], BrokerConfig]) -> int:
    """Run `kafka-storage` with these arguments; return the exit code.

    `read_config` returns the configuration of the broker that is to start. Raises ConfigError, StoreError.
    """
    if words[:1] == ["random-uuid"]:
        print(uuid_to_text(random_uuid(SystemRandom())))
        return 0
    texts = _arguments_of_users(words)
    hide(text.partition("=")[2] for text in texts)
    users = list(map(added_user, texts))
    if users:
        asyncio.run(_store(read_config(), users))
    else:
        print(_NOTHING)
    return 0


def _arguments_of_users(words: Sequence[str]) -> list[str]:
    parser = argparse.ArgumentParser("kafka-storage", add_help=False, allow_abbrev=False)
    parser.add_argument("-S", "--add-scram", action="append", default=[])
    added: list[str] = parser.parse_known_args(words)[0].add_scram
    return added


async def _store(config: BrokerConfig, users: Sequence[AddedUser]) -> None:
    """Put the users into the metadata of a new cluster, as the first start of its broker would."""
    from kcompat.node.environment import real_environment  # late: only a script that adds users needs it
    from kcompat.node.first_users import with_first_users

    environment = with_first_users(real_environment(), users)
    store = environment.open_store(config, environment.clock)
    try:
        await store.session()
    finally:
        await store.close()
