"""`kcompat features`: feature levels of a cluster. Kafka's counterpart: `FeatureCommand`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kcompat.admin.client import CONTROLLER, AdminClient
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.admin.settings import ClientSettings, read_command_config
from kcompat.commands.metadata_versions import (
    FEATURE,
    NEWEST,
    OLDEST,
    STABLE,
    is_metadata_level,
    level_of,
    levels_with,
    name_of,
    names_from,
    needs_of,
)
from kcompat.commands.options import terse
from kcompat.commands.output import print_json
from kcompat.commands.positional import Argparse4jParser
from kcompat.config.java_text import parse_integer
from kcompat.protocol.messages.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


def parser() -> Argparse4jParser:
    """Return the parser of the command."""
    made = Argparse4jParser(prog="kafka-features", description="This tool manages feature flags in Kafka.")
    servers = made.add_mutually_exclusive_group(required=True)
    servers.add_argument("--bootstrap-server", help="brokers, as HOST1:PORT1,HOST2:PORT2")
    servers.add_argument("--bootstrap-controller", help="controllers of a KRaft cluster")
    made.add_argument("--command-config", help="properties file with client settings")
    made.add_output()
    actions = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    actions.add_parser("describe", help="show the features and their levels").add_output(is_of_action=True)
    for name, text in (
        ("upgrade", "raise the levels of features"),
        ("downgrade", "lower the levels of features"),
        ("disable", "lower the levels of features to 0"),
    ):
        action = actions.add_parser(name, help=text)
        if name != "disable":
            action.add_argument("--metadata", help="metadata version, such as 3.9-IV0")
        action.add_argument("--feature", action="append", help="NAME=LEVEL; for disable NAME")
        action.add_argument("--dry-run", action="store_true", help="validate the change alone")
        if name != "upgrade":
            action.add_argument("--unsafe", action="store_true", help="even if that may lose metadata")
    mapping = actions.add_parser("version-mapping", help="show the levels of features that a release has")
    mapping.add_argument("--release-version", default=STABLE, help=f"such as 4.0 (default: {STABLE})")
    mapping.add_output(is_of_action=True)
    dependencies = actions.add_parser(
        "feature-dependencies", help="show the levels of other features that levels need"
    )
    dependencies.add_argument("--feature", action="append", required=True, help="NAME=LEVEL")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    options = parser().parse_args(words)
    try:
        if options.command in _WITHOUT_BROKER:
            _WITHOUT_BROKER[options.command](options)
            return 0
        properties = read_command_config(options.command_config) if options.command_config else {}
        properties["bootstrap.servers"] = options.bootstrap_server or options.bootstrap_controller
        with AdminClient(ClientSettings(properties)) as admin:
            if options.command == "describe":
                _describe(admin, options.output == "json")
            else:
                _update(admin, options)
    except JavaError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _show_mapping(options: argparse.Namespace) -> None:
    """Print the level of each feature in a release."""
    release = options.release_version
    level = level_of(release)
    if level is None or not is_metadata_level(level) or (level == level_of(NEWEST) and release != NEWEST):
        known = ", ".join(names_from(OLDEST, NEWEST))
        raise terse(f"Unknown metadata.version '{release}'. Supported metadata.version are: {known}")
    levels = levels_with(level)
    if options.output == "json":
        print_json({"release": release, "features": {FEATURE: level, **levels}})
        return
    rows = [f"{FEATURE}={level} ({release})", *(f"{name}={each}" for name, each in levels.items())]
    sys.stdout.write("".join(f"{row}\n" for row in rows))


def _show_dependencies(options: argparse.Namespace) -> None:
    """Print the levels of other features that levels need."""
    for text in options.feature:
        name, level = _name_and_level(text)
        shown, needs = f"{name}={level}", _needs_of(name, level)
        if name == FEATURE:
            shown += f" ({name_of(level)})"
        if needs:
            sys.stdout.write(f"{shown} requires:\n" + "".join(f"    {each}\n" for each in needs))
        else:
            sys.stdout.write(f"{shown} has no dependencies.\n")


def _needs_of(name: str, level: int) -> list[str]:
    if name == FEATURE:
        if not is_metadata_level(level):
            raise terse(f"Unknown {FEATURE} {level}")
        return []
    try:
        needs = needs_of(name, level)
    except KeyError:
        raise terse(f"Unknown feature: {name}") from None
    if needs is None:
        raise terse(f"No feature:{name} with feature level {level}")
    return needs


_WITHOUT_BROKER: Final = {"version-mapping": _show_mapping, "feature-dependencies": _show_dependencies}
"""Actions that are about Kafka's releases, and ask no broker."""


def _describe(admin: AdminClient, as_json: bool) -> None:
    response = admin.ask(ApiVersionsRequest("kcompat", "unknown"), name="describeFeatures")
    raise_for(response.error_code)
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    epoch = response.finalized_features_epoch if response.finalized_features_epoch >= 0 else None
    rows = [
        (each.name, each.min_version, each.max_version, finalized.get(each.name, 0))
        for each in sorted(response.supported_features, key=lambda each: each.name)
    ]
    if as_json:
        features = [
            {
                "feature": name,
                "supportedMinVersion": low,
                "supportedMaxVersion": high,
                "finalizedVersionLevel": level,
            }
            for name, low, high, level in rows
        ]
        print_json({"epoch": epoch, "features": features})
        return
    for name, *levels in rows:
        low, high, level = (name_of(each) if name == FEATURE else str(each) for each in levels)
        sys.stdout.write(
            f"Feature: {name}\tSupportedMinVersion: {low}\tSupportedMaxVersion: {high}"
            f"\tFinalizedVersionLevel: {level}\tEpoch: {'-' if epoch is None else epoch}\n"
        )


def _update(admin: AdminClient, options: argparse.Namespace) -> None:
    levels = _levels(options)
    if not levels:
        raise terse(f"You must specify at least one feature to {options.command}")
    kind = UPGRADE
    if options.command != "upgrade":
        kind = UNSAFE_DOWNGRADE if options.unsafe else SAFE_DOWNGRADE
    errors = _send(admin, levels, kind, options.dry_run)
    for name in sorted(levels):
        sys.stdout.write(_sentence(name, levels[name], errors.get(name), options) + "\n")
    failures = sum(errors.get(name) is not None for name in levels)
    if failures:
        raise terse(f"{failures} out of {len(levels)} operation(s) failed.")


def _levels(options: argparse.Namespace) -> dict[str, int]:
    """Return the level that each feature should get. Raises JavaError."""
    found: dict[str, int] = {}
    metadata = getattr(options, "metadata", None)
    if metadata is not None:
        level = level_of(metadata)
        if level is None:
            known = ", ".join(names_from("3.3-IV0", "3.9-IV0"))
            raise terse(f"Unsupported metadata.version {metadata}. Supported metadata.version are {known}")
        found[FEATURE] = level
    for text in options.feature or ():
        name, level = (text, 0) if options.command == "disable" else _name_and_level(text)
        if name in found:
            raise terse(f"Feature {name} was specified more than once.")
        found[name] = level
    return found


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise terse(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = parse_integer(level, 16)
    except ValueError:
        raise terse(f"Can't parse feature=level string {text}: unable to parse {level} as a short.") from None
    return name, number


def _send(
    admin: AdminClient, levels: Mapping[str, int], kind: int, dry_run: bool
) -> dict[str, JavaError | None]:
    """Change the levels; return the error of each feature."""
    from kcompat.admin.connection import Versioned
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.messages.update_features import UpdateFeaturesRequest

    def make(version: int) -> UpdateFeaturesRequest:
        old: dict[str, Any] = {"allow_downgrade": kind != UPGRADE} if version == 0 else {"upgrade_type": kind}
        updates = [
            UpdateFeaturesRequest.FeatureUpdateKey(name, level, **old) for name, level in levels.items()
        ]
        return UpdateFeaturesRequest(60_000, updates, dry_run)

    try:
        response = admin.ask(Versioned(ApiKey.UPDATE_FEATURES, make), CONTROLLER, name="updateFeatures")
    except JavaError as error:
        return dict.fromkeys(levels, error)
    if response.error_code:
        return dict.fromkeys(levels, error_of_code(response.error_code, response.error_message))
    return {
        row.feature: error_of_code(row.error_code, row.error_message)
        for row in response.results
        if row.error_code
    }


def _sentence(name: str, level: int, error: JavaError | None, options: argparse.Namespace) -> str:
    action = options.command
    if error is not None:
        what = f"disable {name}" if action == "disable" else f"{action} {name} to {level}"
        return f"{'Can' if options.dry_run else 'Could'} not {what}. {error}"
    done = "disabled." if action == "disable" else f"{action}d to {level}."
    return f"{name} {'can be' if options.dry_run else 'was'} {done}"
