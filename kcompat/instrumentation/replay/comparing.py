"""Comparison of two answers to the same request, field by field, except fields that differ between any two
brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.instrumentation.replay.correspondence import kind_of
from kcompat.protocol.errors import ErrorCode
from kcompat.records.layout import CONTROL_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.instrumentation.replay.correspondence import Correspondence

IGNORED: Final = frozenset(
    {
        "api_keys",
        "client_host",
        "current_leader",
        "documentation",
        "finalized_features",
        "finalized_features_epoch",
        "host",
        "leader_epoch",
        "log_dir",
        "node_endpoints",
        "port",
        "rack",
        "supported_features",
        "throttle_time_ms",
        "total_bytes",
        "usable_bytes",
        "zk_migration_ready",
    }
)
"""Fields specific to one broker: its addresses, versions, directories and times."""
TEXTS: Final = ("error_message", "batch_index_error_message")
"""Fields with texts for people. Two such texts need not be equal, but both must be empty or neither."""
NEAR_MS: Final = 10 * 60 * 1000
"""Milliseconds from the time of an answer within which a number in it counts as a timestamp."""


class Difference(Struct, frozen=True):
    """A field in which two answers differ."""

    path: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        """Return the path and both values."""
        return f"{self.path}: recorded {_shown(self.path, self.recorded)}, now {_shown(self.path, self.now)}"


class Comparison:
    """The comparison of recorded answers with new ones, which learns which recorded id corresponds to which
    new one.
    """

    def __init__(self, correspondence: Correspondence) -> None:
        self._ids = correspondence

    def differences(
        self, recorded: dict[str, Any], new: dict[str, Any], times_ms: tuple[float, float], scope: str
    ) -> list[Difference]:
        """Return the differences of two answers. `times_ms` are the times of the two answers; `scope` is the
        group of the request.
        """
        return list(_Answers(self._ids, times_ms, scope).of_structs("", recorded, new))


class _Answers:
    """The two answers to one request."""

    def __init__(self, ids: Correspondence, times_ms: tuple[float, float], scope: str) -> None:
        self._ids = ids
        self._times_ms = times_ms
        self._scope = scope

    def of_structs(self, path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
        """Yield the differences of the fields that both answers have, as their versions may differ."""
        for name in old:
            if name in new and name not in IGNORED:
                yield from self._of_fields(f"{path}.{name}".lstrip("."), name, old[name], new[name])

    def _of_fields(self, path: str, name: str, old: Any, new: Any) -> Iterator[Difference]:
        if name == "records":
            yield from _of_records(path, old, new)
        elif isinstance(old, dict) and isinstance(new, dict):
            yield from self.of_structs(path, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._of_arrays(path, name, old, new)
        elif not self._agree(name, old, new):
            yield Difference(path, old, new)

    def _of_arrays(self, path: str, name: str, old: list[Any], new: list[Any]) -> Iterator[Difference]:
        if len(old) != len(new):
            yield Difference(f"{path} (number of elements)", len(old), len(new))
            return
        if old and isinstance(old[0], dict):
            # Brokers order arrays as their hash tables do.
            old = sorted(old, key=lambda each: repr(self._without_ids(each, recorded=True)))
            new = sorted(new, key=lambda each: repr(self._without_ids(each, recorded=False)))
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from self._of_fields(f"{path}[{index}]", name, one, other)

    def _agree(self, name: str, old: Any, new: Any) -> bool:
        kind = kind_of(name, self._scope)
        if kind is not None:
            return self._ids.agree(kind, old, new)
        if name in TEXTS:
            return bool(old) == bool(new)
        return bool(old == new) or self._are_times(old, new)

    def _are_times(self, old: Any, new: Any) -> bool:
        """Return whether both values are timestamps close to the times of their answers."""
        pairs = zip((old, new), self._times_ms, strict=True)
        return all(type(value) is int and abs(value - time_ms) < NEAR_MS for value, time_ms in pairs)

    def _without_ids(self, value: Any, *, recorded: bool, name: str = "") -> Any:
        """Return a value by which elements of both answers are paired: known ids are translated to the new
        broker's, others are left out.
        """
        if isinstance(value, dict):
            return {
                key: self._without_ids(item, recorded=recorded, name=key)
                for key, item in value.items()
                if key not in IGNORED and key not in TEXTS and key != "records"
            }
        if isinstance(value, list):
            return [self._without_ids(item, recorded=recorded, name=name) for item in value]
        kind = kind_of(name, self._scope)
        if kind is None:
            return value
        if recorded:
            return self._ids.translated(kind, value) if self._ids.knows(kind, value) else None
        return value if self._ids.is_known_new(kind, value) else None


def _of_records(path: str, old: list[Any] | None, new: list[Any] | None) -> Iterator[Difference]:
    """Yield the differences of records, whatever their batches; records that were not recorded are not
    compared.
    """
    if any("problem" in batch for batch in [*(old or ()), *(new or ())]):
        return
    theirs, mine = list(_records_in(old)), list(_records_in(new))
    if len(theirs) != len(mine):
        yield Difference(f"{path} (number of records)", len(theirs), len(mine))
        return
    for index, (one, other) in enumerate(zip(theirs, mine, strict=True)):
        for name in one:
            if one[name] != other[name]:
                yield Difference(f"{path}[{index}].{name}", one[name], other[name])


def _records_in(batches: list[Any] | None) -> Iterator[dict[str, Any]]:
    for batch in batches or ():
        if "records" not in batch:
            yield {name: batch[name] for name in ("offset", "key", "value")}  # of an old format
            continue
        is_control = bool(batch["attributes"] & CONTROL_FLAG)
        for record in batch["records"]:
            kept = ("offset",) if is_control else ("offset", "timestamp", "key", "value", "headers")
            yield {"control": is_control, **{name: record[name] for name in kept}}


def _shown(path: str, value: Any) -> str:
    if path.endswith("error_code") and isinstance(value, int):
        return next((error.name for error in ErrorCode if error == value), str(value))
    return repr(value)
