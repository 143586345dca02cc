"""The check of docstrings finds sentences that do not stand alone, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from style import OPENINGS, fault_of, faults, main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", [f"{opening} epoch before this one." for opening in OPENINGS])
def test_an_opening_without_a_subject_is_a_fault(text: str) -> None:
    assert (fault_of(text) or "").startswith("begins with")


@pytest.mark.parametrize("text", ["Yes.", "The name.", "Empty.", "See `Poller`."])
def test_two_words_are_a_fault(text: str) -> None:
    assert fault_of(text) == "fewer than 3 words"


@pytest.mark.parametrize("text", ["See the `Log` of Kafka.", "See Kafka's UnifiedLog"])
def test_a_docstring_that_only_names_another_place_is_a_fault(text: str) -> None:
    assert fault_of(text) == "only names another place"


@pytest.mark.parametrize(
    "text",
    [
        "Return the committed offset of each partition.",
        "Items of the last transition.",
        "Offsets below the high watermark.",
        "Whole frames that wait for their connection.",
        "See whether the partition has a leader. Raises KeyError.",
        "Iterate over the batches of a segment.",
    ],
)
def test_a_sentence_with_a_subject_is_none(text: str) -> None:
    assert fault_of(text) is None


def test_docstrings_of_modules_classes_functions_and_attributes_are_read() -> None:
    source = '''"""Yes."""
class Log:
    """Those of a partition."""

    end = 0
    """The
    same in bytes."""

    async def read(self) -> str:
        """Return the bytes of a range."""
        return "Of no docstring"
'''
    assert faults(source) == [
        "1: fewer than 3 words: Yes.",
        "3: begins with 'Those': Those of a partition.",
        "6: begins with 'The same': The same in bytes.",
    ]


def test_the_exit_code_says_whether_there_is_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "good.py").write_text('"""Read the records of a batch."""\n')
    assert main([str(package)]) == 0
    (package / "bad.py").write_text('"""What a batch is."""\n')
    assert main([str(package)]) == main([str(package / "bad.py")]) == 1
    assert f"{package / 'bad.py'}:1: begins with 'What'" in capsys.readouterr().out
