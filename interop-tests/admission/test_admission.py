"""Every API asked by clients with different ACLs: these change the answers as they change those of a Kafka.

`expected.json` says what that is; `record.py` has written it from a real Kafka 3.9.2, and 4.3.0 for the
versions that 3.9.2 does not have; with ZooKeeper where a Kafka without it answers otherwise or not at all.
``--target=kafka`` plays the same to them and so tests the file.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import pytest

from admission.brokers import Reference, kafka, ours, reference_of
from admission.changes import changes, load
from admission.personas import ALLOWED, DENIED
from admission.scenes import load_all
from admission.stage import SCENES
from kcompat.api.registry import SERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from admission.changes import Changes
    from admission.personas import Persona
    from admission.stage import Played
    from kcompat.protocol.api_keys import ApiKey

load_all()
EXPECTED = load()
EARLIER = pytest.mark.thorough("the same scene in the last of its versions")
CASES = [
    pytest.param(
        played,
        version,
        id=f"{played.name}-v{version}",
        marks=() if version == max(played.versions) else EARLIER,
    )
    for played in SCENES
    for version in played.versions
]


@pytest.fixture(scope="module")
def port_of(request: pytest.FixtureRequest) -> Iterator[Callable[[ApiKey, int], int]]:
    """Gives the port of the broker to which a version of an API is played. Brokers start as needed."""
    with ExitStack() as running:

        @cache
        def ours_started() -> int:
            return running.enter_context(ours())

        @cache
        def kafka_started(reference: Reference) -> int:
            return running.enter_context(kafka(reference))

        is_ours = request.config.getoption("--target") == "kcompat"
        yield lambda key, version: ours_started() if is_ours else kafka_started(reference_of(key, version))


@pytest.mark.parametrize(("played", "version"), CASES)
def test_a_denial_changes_what_it_changes_in_kafka(
    port_of: Callable[[ApiKey, int], int], played: Played, version: int
) -> None:
    assert changes(port_of(played.key, version), played, version, DENIED) == expected(played, version, DENIED)


@pytest.mark.thorough("denials of the same operations show it, and one scene of each family of APIs")
@pytest.mark.parametrize(("played", "version"), CASES)
def test_a_permission_changes_what_it_changes_in_kafka(
    port_of: Callable[[ApiKey, int], int], played: Played, version: int
) -> None:
    assert changes(port_of(played.key, version), played, version, ALLOWED) == expected(
        played, version, ALLOWED
    )


def expected(played: Played, version: int, personas: Sequence[Persona]) -> Changes:
    """Return the changes that the file has for these personas."""
    names = {persona.name for persona in personas}
    return {who: sees for who, sees in EXPECTED[played.name, version].items() if who in names}


def test_every_api_is_asked() -> None:
    assert {played.key for played in SCENES} == {served.key for served in SERVED}


def test_nothing_else_is_expected() -> None:
    assert EXPECTED.keys() == {(played.name, version) for played in SCENES for version in played.versions}
