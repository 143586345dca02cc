"""Writes `expected.json` from what real Kafkas answer, which takes some minutes.

python interop-tests/admission/record.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from admission.brokers import REFERENCES, kafka, reference_of
from admission.changes import changes, store
from admission.scenes import load_all
from admission.stage import SCENES


def main() -> None:
    """Play every scene at each version to the Kafka that is the reference for it."""
    load_all()
    cases = [(played, version) for played in SCENES for version in played.versions]
    found = {}
    for reference in REFERENCES:
        with kafka(reference) as port:
            for played, version in cases:
                if reference_of(played.key, version) == reference:
                    found[played.name, version] = changes(port, played, version)
    store({(played.name, version): found[played.name, version] for played, version in cases})


if __name__ == "__main__":
    main()
