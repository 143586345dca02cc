"""Limits on the time to parse and compile a pattern, as the event loop waits for it."""

from __future__ import annotations

import pytest

from kcompat.regex.cases import Cases
from kcompat.regex.classes import ascii_of
from kcompat.regex.nodes import MAX_SIZE, RegexNode
from kcompat.regex.parser import MAX_LENGTH, parse
from kcompat.regex.pattern import Pattern, compiled, problem
from kcompat.regex.scan import MAX_BEYOND_ASCII, STEPS_TO_COMPILE, Scan
from kcompat.regex.scripts import NAMES


class Counted(Pattern):
    """Counts the steps of writing a program out, and ends where they are too many."""

    steps = 0

    def _emit(self, node: RegexNode, then: int) -> int:
        self.steps += 1
        assert self.steps <= 2 * MAX_SIZE + 2
        return super()._emit(node, then)


def test_a_pattern_may_be_so_long() -> None:
    assert problem("a" * (MAX_SIZE - 1)) is None
    assert problem("a" * MAX_LENGTH) is None
    assert problem("a" * (MAX_LENGTH + 1)) == "expression longer than 5000 characters"


def test_its_length_is_looked_at_before_anything_else() -> None:
    assert problem("(" * (MAX_LENGTH + 1)) == "expression longer than 5000 characters"


def test_the_characters_of_a_unicode_class_are_found_once() -> None:
    ascii_of.cache_clear()
    for pattern in (r"[\p{Greek}\P{Greek}\p{^Greek}]" * 100, r"\p{Greek}", r"(?i)\p{Greek}"):
        compiled.cache_clear()
        compiled(pattern)
    assert ascii_of.cache_info().misses == 1


def test_a_name_of_no_unicode_class_is_not_kept() -> None:
    ascii_of.cache_clear()
    for number in range(2 * len(NAMES)):
        assert problem(rf"\p{{Nix{number}}}") == "invalid character class range"
    assert ascii_of.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("(((){1000}){1000}){1000}", "", "a"),
        ("(((a{0}){1000}){1000}){1000}", "", "a"),
        ("(" + "()" * 2_000 + "){1000}", "", "a"),
        ("(" + "x{0}" * 1_000 + "b?){1000}", "b" * 1_000, "x"),
        ("(?:" + "(" * 190 + "ab" + "){1}" * 190 + "){1000}", "ab" * 1_000, "ab"),
        ("(()*a()+(){2,}){1000}", "a" * 1_000, "a"),
        ("((a|){30}(|b?|){30}){20}", "ab" * 20, "c"),
        ("(a?){1000}(b?){1000}(c*){400}", "abc", "ca"),
        ("(" * 100 + "a" + ")?" * 100, "a", "aa"),
    ],
    ids=range(9),
)
def test_steps_to_write_a_program_out(pattern: str, yes: str, no: str) -> None:
    """However parts that mean nothing are repeated and nested: about two for each instruction."""
    program = Counted(parse(pattern))
    assert program.steps <= 2 * program.size
    assert (program.matches(yes), program.matches(no)) == (True, False)


def test_choices_of_nothing_are_followed_once() -> None:
    program = compiled("(" + "|" * 1_000 + "a)")
    assert len(program.start[0]) == 1
    assert max(len(followers) for followers in program._next) == 2


def test_a_scan_compiles_no_more_at_a_time_than_it_has_steps_for() -> None:
    patterns = [f"{number:04}" + "a?" * 1_000 for number in range(10)]
    compiled.cache_clear()
    scan, slices = Scan(patterns, ["0001"]), 0
    compiled_so_far = [0]
    done = False
    while not done:
        done = scan.run(STEPS_TO_COMPILE * 1_000)
        slices += 1
        compiled_so_far.append(compiled.cache_info().misses)
        assert compiled_so_far[-1] - compiled_so_far[-2] <= 1
    assert slices > len(patterns)
    assert [text for text, found in scan.found.items() if found] == [patterns[1]]


def test_names_are_compared_a_few_characters_beyond_ascii_at_a_time() -> None:
    compiled.cache_clear()
    names = [f"{chr(0x4E00 + number)}-{number}" for number in range(3 * MAX_BEYOND_ASCII)]
    scan = Scan([r"\p{Han}-.*[05]"], [*names, "a"])
    while not scan.run(10_000):
        pass
    assert scan.found == {r"\p{Han}-.*[05]": names[::5]}
    assert compiled.cache_info().misses == 3


WIDE = "".join(chr(0x4E00 + number) for number in range(3 * MAX_BEYOND_ASCII))
EDGED = WIDE[: MAX_BEYOND_ASCII - 1] + "a" + WIDE[MAX_BEYOND_ASCII - 1 :]
"""A letter of ASCII is the last character of the first piece."""


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (".*", [WIDE, "x", EDGED]),
        (r"\p{Han}+", [WIDE]),
        (WIDE, [WIDE]),
        (f".{{{MAX_BEYOND_ASCII - 1}}}a.+", [EDGED]),
        (r".+\ba\b.+", [EDGED]),
        (r".+a\B.+", []),
        (f"[^{WIDE[-1]}]*", ["x"]),
        (f"^.+[{WIDE[-1]}]$", [WIDE, EDGED]),
        (".", ["x"]),
    ],
    ids=range(9),
)
def test_a_name_of_very_many_characters_is_compared_piece_by_piece(pattern: str, matched: list[str]) -> None:
    scan = Scan([pattern], [WIDE, "x", EDGED])
    while not scan.run(1):
        pass
    assert scan.found == {pattern: matched}


def test_a_pattern_is_compiled_for_each_piece_of_such_a_name() -> None:
    compiled.cache_clear()
    scan = Scan([".*"], [WIDE, "x", EDGED])
    slices = 1
    while not scan.run(STEPS_TO_COMPILE):
        slices += 1
    assert compiled.cache_info().misses == 3 + 1 + 4
    assert slices > compiled.cache_info().misses


def test_letters_by_their_cases_are_found_for_each_span() -> None:
    pairs = [(3, 1), (5, 2), (5, 4), (9, 1), (12, 8), (20, 16), (21, 32)]
    cases = Cases(pairs)
    for low in range(24):
        for high in range(low, 24):
            expected = {mask for code, mask in pairs if low <= code <= high}
            assert cases.those_in(low, high) == sum(expected)
    assert Cases(()).those_in(0, 9) == 0
