"""The options of `kcompat config`, apart from its work: the list of keys, and the check of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.cli.argument_types import path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_COMMAND: Final = "config"
_LIST: Final = "list"
_CHECK: Final = "check"


def with_config_action(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of the command line with `list` where `config` is used without an action."""
    words = list(arguments)
    if words[:1] == [_COMMAND] and words[1:2] not in ([_LIST], [_CHECK], ["-h"], ["--help"]):
        words.insert(1, _LIST)
    return words


def add_config(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `kcompat config` to the command line."""
    config = commands.add_parser(
        _COMMAND,
        help="list the configuration keys, or check a properties file",
        description="List the configuration keys, or check a properties file. `kcompat config WORD...` is "
        "short for `kcompat config list WORD...`.",
    )
    actions = config.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    listing = actions.add_parser(_LIST, help="list the configuration keys")
    listing.add_argument(
        "words", nargs="*", metavar="WORD", help="only keys whose name contains one of these"
    )
    listing.add_argument("--topic", action="store_true", help="topic keys instead of broker keys")
    listing.add_argument("--markdown", action="store_true", help="print the reference page")
    check = actions.add_parser(
        _CHECK,
        help="check a properties file",
        description="Tell the effect of each setting of a properties file, and whether `kcompat start FILE` "
        "would refuse it. KAFKA_... variables count as at a start. Exit code 1: a broker would not start.",
    )
    check.add_argument("properties", type=path, metavar="FILE", help="a Kafka properties file")
    check.add_argument("--all", action="store_true", help="print the settings that are enforced, too")
    check.add_argument(
        "--strict", action="store_true", help="exit code 1 also for settings without effect, and unknown keys"
    )
    check.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="form of the output (default: text)"
    )


def run(options: argparse.Namespace) -> int:
    """Run the action and return the exit code."""
    if options.action == _CHECK:
        from kcompat.cli import config_check

        return config_check.run(options)
    from kcompat.cli import config

    return config.run(options)
