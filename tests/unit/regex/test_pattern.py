"""RE2's syntax: what matches, what is refused and with which words, and how long it may take."""

from __future__ import annotations

import pytest

from kcompat.regex.nodes import MAX_DEPTH
from kcompat.regex.pattern import compiled, problem
from kcompat.regex.scan import Scan


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("", [""], ["a"]),
        ("a.c", ["abc", "a-c"], ["ac", "abcd", "xabc"]),
        ("a|bc|", ["a", "bc", ""], ["abc"]),
        ("(a|b)*c+d?", ["c", "ababccd"], ["d", "abd"]),
        ("a*?b+?c??", ["aab", "bc"], ["aa"]),
        ("a{2}b{1,}c{0,2}", ["aab", "aabbcc"], ["ab", "aabccc", "aac"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("[a-c_]+[^a-c][]x]", ["ab_dx", "a-]"], ["aax", "dx"]),
        ("[[:alpha:]][[:^alpha:]][[:word:]-]", ["a1-", "Z._"], ["aa-", "a1."]),
        (r"\d\D\w\W\s?", ["1a_-"], ["11a-", "1a--"]),
        (r"\pL\PL\p{Lu}\p{^Lu}\p{Latin}\p{Greek}?", ["a-Aaz"], ["a-aaz", "--Aaz"]),
        (r"^\Aa$\z", ["a"], ["ab"]),
        (r"\ba\b-\bb\B.", ["a-bc"], ["a-b-"]),
        ("(?i)aB[c-d]", ["ABC", "abd"], ["abe"]),
        ("(?i:a)b(?-i)c(?i)d", ["AbcD"], ["ABcd"]),
        ("((?i)a)b", ["Ab"], ["AB"]),
        ("(?i)\u212a\u017f", ["ks", "KS"], ["xs"]),
        ("(?P<n>a)(?<m>b)(?:c)(?smU:d)", ["abcd"], ["abc"]),
        (r"\Qa.b|c\E*", ["a.b|ccc", "a.b|"], ["axb|c"]),
        (r"\x41\x{42}\103\060\a?\.\_", ["ABC0._"], ["ABC0x_"]),
        ("[\\]a-]", ["]", "-"], ["b"]),
        ("\u00e9|a", ["a"], ["e"]),
        (r"topics\.(orders|payments)\..*", ["topics.orders.v1"], ["topics-orders.v1"]),
    ],
)
def test_what_matches_as_a_whole(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in [*yes, *no] if compiled(pattern).matches(text)] == yes


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(a", "missing closing )"),
        ("a)", "regexp/syntax: internal error"),
        ("[a", "missing closing ]"),
        ("[]", "missing closing ]"),
        ("*a", "missing argument to repetition operator"),
        ("a|*", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{2,1}", "invalid repeat count"),
        ("a{99999999999999999999}", "invalid repeat count"),
        ("[b-a]", "invalid character class range"),
        ("[[:nix:]]", "invalid character class range"),
        (r"\p{Nix}", "invalid character class range"),
        (r"\p", "invalid character class range"),
        ("a\\", "trailing backslash at end of expression"),
        (r"\1", "invalid escape sequence"),
        (r"\C", "invalid escape sequence"),
        (r"\xZ1", "invalid escape sequence"),
        (r"\x{110000}", "invalid escape sequence"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?i-)a", "invalid or unsupported Perl syntax"),
        ("(?P<>a)", "invalid named capture"),
        ("(?P<a", "invalid named capture"),
        ("(?P<a>x)(?P<a>y)", "duplicate capture group name"),
        ("((a{100}){100}){100}", "expression too large"),
        ("(" * (MAX_DEPTH + 1) + "a|b" + ")*" * (MAX_DEPTH + 1), "expression nests too deeply"),
    ],
)
def test_what_is_refused(pattern: str, what: str) -> None:
    assert problem(pattern) == what


def test_thousands_of_parentheses_do_no_harm() -> None:
    assert compiled("(" * 2_499 + "a" + ")" * 2_499).matches("a")


def test_a_pattern_that_takes_others_forever_takes_one_step_a_character() -> None:
    pattern = compiled("(a*)*(a|aa)+(.*a){20}[^a]")
    text = "a" * 249
    assert not pattern.matches(text)
    place, costs = pattern.start, []
    for character in text:
        outcome, cost = pattern.step(place, ord(character))
        assert not isinstance(outcome, bool)
        place = outcome
        costs.append(cost)
    assert max(costs) == 1, "all is remembered from the first time"


def test_a_scan_is_done_in_slices() -> None:
    names = [f"topic-{index}" for index in range(1_000)]
    scan = Scan(["topic-.*[13579]", "x", "("], names)
    slices = 1
    while not scan.run(500):
        slices += 1
    assert slices > 10
    assert scan.found == {"topic-.*[13579]": names[1::2], "x": [], "(": []}


E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, KELVIN, LONG_S, EURO = (
    "\u00e9\u00c9\u0436\u0416\u6f22\u212a\u017f\u20ac"
)


@pytest.mark.parametrize(
    ("pattern", "yes"),
    [
        (".", [E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, KELVIN, LONG_S, EURO]),
        (f"[^{E_ACUTE}]", [BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, KELVIN, LONG_S, EURO]),
        (f"{E_ACUTE}|[{ZHE}{HAN}]", [E_ACUTE, ZHE, HAN]),
        (f"(?i){BIG_E_ACUTE}|{ZHE}", [E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE]),
        ("(?i)[\u00e0-\u00fc]", [E_ACUTE, BIG_E_ACUTE]),
        ("(?i)k|s", [KELVIN, LONG_S]),
        ("(?i)[^a-z]", [E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, EURO]),
        (r"\pL", [E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, KELVIN, LONG_S]),
        (r"\p{Lu}", [BIG_E_ACUTE, BIG_ZHE, KELVIN]),
        (r"\PL|\p{Han}", [HAN, EURO]),
        (r"\p{Cyrillic}", [ZHE, BIG_ZHE]),
        ("[\u0430-\U0010ffff]", [ZHE, HAN, KELVIN, EURO]),
        (r"\w|\d|[[:alpha:]]", []),
        (r"\b.|.\b", []),
    ],
)
def test_what_matches_beyond_ascii(pattern: str, yes: list[str]) -> None:
    """Characters of the text become part of the alphabet; `\\w` and its like are ASCII, as in RE2."""
    texts = [E_ACUTE, BIG_E_ACUTE, ZHE, BIG_ZHE, HAN, KELVIN, LONG_S, EURO]
    program = compiled(pattern, "".join(texts))
    assert [text for text in texts if program.matches(text)] == yes
