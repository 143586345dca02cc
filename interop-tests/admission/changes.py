"""The changes that ACLs of personas make in the answers, and the file that has those of a real Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from admission.personas import DENIED
from admission.stage import Asker
from differential.compare import differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from admission.personas import Persona
    from admission.stage import Played
    from differential.play import Step

FILE = Path(__file__).with_name("expected.json")

Changes: TypeAlias = "dict[str, dict[str, Any]]"
"""By persona, for those that get other answers than one who may do everything: the fields that differ."""


def changes(port: int, played: Played, version: int, personas: Sequence[Persona]) -> Changes:
    """Play a scene for some personas, and before for the one that may do everything."""
    free: list[Step] = []
    found: Changes = {}
    family = "" if personas == DENIED else "a-"
    for persona in dict.fromkeys((DENIED[0], *personas)):
        stage = Asker(port, f"{played.name}-{version}-{family}{persona.name}", persona.host)
        try:
            played.scene(stage, version)
        finally:
            stage.close()
        transcript = _without_names(stage)
        free = free or transcript
        changed = {difference.path: difference.ours for difference in differences(free, transcript)}
        if changed:
            found[persona.name] = dict(sorted(changed.items()))
    return found


def _without_names(stage: Asker) -> list[Step]:
    """The transcript without what only says which persona asked, and at which version."""
    steps = [(label.rpartition(" v")[0] or label, answer) for label, answer in stage.transcript]
    text = json.dumps(steps, default=bytes.hex)
    return [(label, answer) for label, answer in json.loads(text.replace(f"-{stage.prefix}", ""))]


def load() -> dict[tuple[str, int], Changes]:
    """Return the expected changes by scene and version."""
    expected: dict[tuple[str, int], Changes] = {}
    for name, rows in json.loads(FILE.read_text()).items():
        for row in rows:
            by_persona = {who: group["sees"] for group in row["changes"] for who in group["denied"]}
            for version in row["versions"]:
                expected[name, version] = by_persona
    return expected


def store(found: dict[tuple[str, int], Changes]) -> None:
    """Write the file: personas with the same answers share an entry, and so do versions."""
    file: dict[str, list[dict[str, Any]]] = {}
    for (name, version), by_persona in found.items():
        groups: list[dict[str, Any]] = []
        for who, sees in by_persona.items():
            same = next((group for group in groups if group["sees"] == sees), None)
            if same is None:
                groups.append({"denied": [who], "sees": sees})
            else:
                same["denied"].append(who)
        rows = file.setdefault(name, [])
        row = next((row for row in rows if row["changes"] == groups), None)
        if row is None:
            rows.append({"versions": [version], "changes": groups})
        else:
            row["versions"].append(version)
    FILE.write_text(json.dumps(file, indent=1) + "\n")
