"""The effect of each setting of a configuration on a broker, without a start.

The tables and functions are those by which a start reads, refuses and warns of settings.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.keys import Effect
from kcompat.config.known import NEWER_KEYS, is_known, is_obeyed_key_of_plugins, meant_key
from kcompat.config.providers import has_variable, resolve_variables
from kcompat.config.table import broker_key, listener_in
from kcompat.config.unenforced import WITHOUT_ROW, refusal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.properties import Setting


class Verdict(Enum):
    """The effect of a setting."""

    ENFORCED = "enforced"
    UNCHECKED = "not checked"
    """A text of the key's type. Whether it is consistent with the others is checked only if no single setting
    is refused.
    """
    NO_EFFECT = "no effect"
    UNKNOWN = "unknown"
    """A key that exists in no Kafka version and may be misspelt; a broker ignores it."""
    OVERRIDDEN = "overridden"
    """A setting that has no effect, since another setting of the same key takes precedence."""
    UNRESOLVED = "unresolved"
    """A variable in the text has no value, so that the text stays as it is."""
    INVALID = "invalid"
    """A text that is not of the key's type, or out of its bounds, or contradicts other settings."""
    REFUSED = "refused"
    """A setting that requires a feature that kcompat does not have."""

    @property
    def prevents_start(self) -> bool:
        """Whether a broker with the setting does not start."""
        return self in (Verdict.INVALID, Verdict.REFUSED)


class SettingFinding(Struct, frozen=True):
    """The effect of one setting, or the reason why several settings contradict each other."""

    verdict: Verdict
    message: str
    """A sentence about the setting; empty for one that is enforced or not checked. Secrets are left out."""
    setting: Setting | None
    """The setting; None if the finding is about several settings together."""


def findings(
    settings: Sequence[Setting], environment: Mapping[str, str], insist: Callable[[], BrokerConfig]
) -> list[SettingFinding]:
    """Return a finding for each of these settings, of which the last of equal keys counts, in their order. If
    settings contradict each other, the first one that the error names has the finding; if the error names
    none, one finding is added.

    `insist` reads and checks the whole configuration as a start does, and returns it or raises ConfigError.
    It is called only if no setting prevents a start by itself.
    """
    counting = {setting.key: setting for setting in settings}
    found = []
    try:
        texts = resolve_variables({key: setting.text for key, setting in counting.items()}, environment)
    except ConfigError as error:
        texts = {key: each.text for key, each in counting.items() if not has_variable(each.text)}
        found.append(_about_all(error, counting))
    for setting in settings:
        last = counting[setting.key]
        if last is not setting:
            where = f"line {last.line}" if last.line is not None else f"the variable {last.variable}"
            found.append(SettingFinding(Verdict.OVERRIDDEN, f"{setting.key}: {where} sets it again", setting))
        elif setting.key in texts:
            found.append(SettingFinding(*_judged(setting.key, texts[setting.key]), setting))
    if any(each.verdict.prevents_start for each in found):
        found = [
            SettingFinding(Verdict.UNCHECKED, each.message, each.setting)
            if each.verdict is Verdict.ENFORCED
            else each
            for each in found
        ]
    else:
        try:
            config = insist()
        except ConfigError as error:
            about_all = _about_all(error, counting)
            named = [each for each in found if each.setting is about_all.setting]
            found = [about_all if each in named else each for each in found] if named else [*found, about_all]
        else:
            absent = config.keys_of_absent_listeners
            found = [_with_absent_listener(each, absent) for each in found]
    return found


def _with_absent_listener(finding: SettingFinding, keys: Sequence[str]) -> SettingFinding:
    """Return the finding, or one that says that its listener is not there, if its setting is in `keys`."""
    setting = finding.setting
    if finding.verdict is not Verdict.ENFORCED or setting is None or setting.key not in keys:
        return finding
    why_not = (
        f"`listeners` has no listener {listener_in(setting.key)} (such keys have its name in lower case)"
    )
    return SettingFinding(Verdict.NO_EFFECT, f"{setting.key}: {why_not}", setting)


def _judged(name: str, text: str) -> tuple[Verdict, str]:
    """Return the effect of one setting, and a sentence about it."""
    key = broker_key(name)
    try:
        if key is not None:
            key.parse(text)
        refusal = refusal_of(name, text)
    except ConfigError as error:
        return Verdict.INVALID, str(error)
    if refusal is not None:
        return Verdict.REFUSED, refusal
    if (why_not := _why_without_effect(name)) is not None:
        return Verdict.NO_EFFECT, f"{name}: {why_not}"
    if not is_known(name):
        meant = meant_key(name)
        hint = "it is ignored" if meant is None else f"did you mean {meant}?"
        return Verdict.UNKNOWN, f"{name or repr(name)} is not a key of Kafka's brokers: {hint}"
    if has_variable(text):
        return Verdict.UNRESOLVED, f"{name}: no provider of config.providers has a value for its variable"
    return Verdict.ENFORCED, ""


def _why_without_effect(name: str) -> str | None:
    """Return the reason why a known key has no effect; None if it has one, or is not known."""
    key = broker_key(name)
    if key is not None:
        return key.reason if key.effect is Effect.NONE else None
    if name in NEWER_KEYS:
        return "it is a key of a newer Kafka"
    if name in WITHOUT_ROW or is_obeyed_key_of_plugins(name) or not is_known(name):
        return None
    return "only plug-ins of Kafka read it"


_NAME: Final = re.compile(r"[\w.-]*\w")


def _about_all(error: ConfigError, counting: Mapping[str, Setting]) -> SettingFinding:
    """Return the finding for an error about several settings, attached to the first setting that it names."""
    named = (counting[name] for name in _NAME.findall(str(error)) if name in counting)
    return SettingFinding(Verdict.INVALID, str(error), next(named, None))
