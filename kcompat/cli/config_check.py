"""`kcompat config check`: the effect of each setting of a properties file, before a broker is started."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from kcompat.cli.start import in_one_sentence, read_config
from kcompat.config.checking import SettingFinding, Verdict, findings
from kcompat.config.errors import ConfigError
from kcompat.config.properties import read_settings, settings_of_variables
from kcompat.log.errors import LogDirectoryError
from kcompat.log.files import FILES
from kcompat.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kcompat.config.broker import BrokerConfig


def run(options: Namespace) -> int:
    """Check the file and print the findings; return exit code 1 if a broker would not start with it."""
    return in_one_sentence(lambda: _run(options))


def _run(options: Namespace) -> int:
    found = findings_of(options.properties, os.environ)
    if options.output == "json":
        print(
            msgspec.json.format(msgspec.json.encode(_as_json(options.properties, found)), indent=2).decode()
        )
    else:
        for each in found:
            if options.all or each.verdict not in (Verdict.ENFORCED, Verdict.UNCHECKED):
                print(printable(_line(options.properties, each)))
        print(_summary(found))
    is_bad = any(
        each.verdict.prevents_start or (options.strict and each.verdict is not Verdict.ENFORCED)
        for each in found
    )
    return 1 if is_bad else 0


def findings_of(path: Path, environment: Mapping[str, str]) -> list[SettingFinding]:
    """Return the effect of each setting that `kcompat start` would read from a file and the environment.

    Raises:
        ConfigError: the file cannot be read, or is not a .properties file.
    """
    settings = [*read_settings(path), *settings_of_variables(environment)]
    return findings(settings, environment, lambda: _insist(path, environment))


def _insist(path: Path, environment: Mapping[str, str]) -> BrokerConfig:
    """Make the checks that a start makes before it creates or opens anything, and return the configuration.

    Raises:
        ConfigError: a start refuses the configuration.
    """
    from kcompat.node.foundation import check
    from kcompat.node.tls import TlsListeners

    options = Namespace(properties=path, override=(), host=None, port=None)
    config = read_config(options, environment)
    try:
        check(config, FILES)
    except LogDirectoryError as error:
        raise ConfigError(str(error)) from error
    TlsListeners(config)
    return config


def _line(path: Path, finding: SettingFinding) -> str:
    place, setting = str(path), finding.setting
    if setting is not None:
        place = f"{path}:{setting.line}" if setting.line is not None else str(setting.variable)
    what = finding.message or (setting.key if setting is not None else "")
    return f"{place}: {finding.verdict.value}: {what}"


def _summary(found: Sequence[SettingFinding]) -> str:
    counts = Counter(each.verdict for each in found)
    parts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    would = "would not" if any(each.verdict.prevents_start for each in found) else "would"
    return f"{parts or 'no settings'}: a broker {would} start"


def _as_json(path: Path, found: Sequence[SettingFinding]) -> dict[str, Any]:
    return {
        "file": str(path),
        "starts": not any(each.verdict.prevents_start for each in found),
        "settings": [
            {
                "key": each.setting.key if each.setting is not None else None,
                "line": each.setting.line if each.setting is not None else None,
                "variable": each.setting.variable if each.setting is not None else None,
                "verdict": each.verdict.value,
                "message": each.message or None,
            }
            for each in found
        ],
    }
