"""The command line of `kcompat configs`."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.config_options import added, check, deleted, parser

SERVER = ("--bootstrap-server", "localhost:9092")


@pytest.mark.parametrize(
    ("words", "types", "names"),
    [
        (["--topic", "a"], ["topics"], ["a"]),
        (["--entity-type", "topics", "--entity-name", "a"], ["topics"], ["a"]),
        (["--entity-type", "brokers"], ["brokers"], []),
        (["--broker-defaults"], ["brokers"], [""]),
        (["--user", "u", "--client-defaults"], ["users", "clients"], ["u", ""]),
        (
            ["--entity-type", "clients", "--entity-default", "--entity-type", "users", "--entity-name", "u"],
            ["clients", "users"],
            ["", "u"],
        ),
    ],
)
def test_entities(words: list[str], types: list[str], names: list[str]) -> None:
    entities = check(parser().parse(["--describe", *SERVER, *words]))
    assert (entities.types, entities.names) == (types, names)


def test_configs_to_set_and_to_remove() -> None:
    options = parser().parse(["--add-config", "a=1, b = [x,y] ,c=", "--delete-config", "d, e"])
    assert added(options) == {"a": "1", "b": "x,y", "c": ""}
    assert deleted(options) == ["d", "e"]


@pytest.mark.parametrize("text", ["a", "a=b=c", "a=1,b"])
def test_configs_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(JavaError, match=r"must be in the format \"key=val\""):
        added(parser().parse(["--add-config", text]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--describe", *SERVER], "At least one entity type must be specified"),
        (["--describe", "--user", "a"], "One of the required --bootstrap-server, --boostrap-controller"),
        (["--describe", *SERVER, "--broker", "x"], "must be a valid integer broker id, but it is: x"),
        (["--alter", *SERVER, "--topic", "a"], "At least one of --add-config, --add-config-file"),
        (["--alter", *SERVER, "--entity-type", "users", "--add-config", "a=b"], "an entity-name or default"),
        (["--describe", *SERVER, "--topic", "a", "--entity-type", "users"], "Only 'users' and 'clients'"),
    ],
)
def test_options_that_do_not_fit_together(words: list[str], message: str) -> None:
    with pytest.raises(JavaError) as refused:
        check(parser().parse(words))
    assert message in str(refused.value)
