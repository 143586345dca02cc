"""Writes `expected.json` from what real Kafkas answer, which takes some minutes.

python interop-tests/admission/record.py [SCENE ...]

With names of scenes only those are played, and what the file says of the others stays.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from admission.brokers import REFERENCES, kafka, reference_of
from admission.changes import changes, load, store
from admission.personas import ALLOWED, DENIED
from admission.scenes import load_all
from admission.stage import SCENES


def main() -> None:
    """Play every scene at each version to the Kafka that is the reference for it."""
    load_all()
    cases = [(played, version) for played in SCENES for version in played.versions]
    chosen = sys.argv[1:]
    found = load() if chosen else {}
    asked = [case for case in cases if not chosen or case[0].name in chosen]
    for reference in REFERENCES:
        its = [case for case in asked if reference_of(case[0].key, case[1]) == reference]
        if its:
            with kafka(reference) as port:
                for played, version in its:
                    found[played.name, version] = {
                        **changes(port, played, version, DENIED),
                        **changes(port, played, version, ALLOWED),
                    }
    store({(played.name, version): found[played.name, version] for played, version in cases})


if __name__ == "__main__":
    main()
