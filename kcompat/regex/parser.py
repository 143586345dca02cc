"""Parser of RE2's syntax, as RE2/J reads it without flags.

Groups are kept on an explicit stack, so that thousands of nested parentheses cannot exhaust Python's. Syntax
that only selects one of several matches (lazy repetitions, lines, `(?U)`) is read and ignored.
"""

from __future__ import annotations

import re

from kcompat.regex import nodes
from kcompat.regex.characters import Reader, class_escape, read_class, read_escape
from kcompat.regex.classes import ASCII, Alphabet
from kcompat.regex.nodes import UNLIMITED, PatternError, RegexNode, Where

MAX_LENGTH = 5_000
"""Maximum number of characters of a pattern: it is read and compiled in one go, which blocks the event loop.
"""

MAX_REPEAT = 1000
_FLAGS = "imsU"
_PLACES = {"A": Where.BEGIN, "z": Where.END, "b": Where.WORD_EDGE, "B": Where.NO_WORD_EDGE}
_STARS = {"*": (0, UNLIMITED), "+": (1, UNLIMITED), "?": (0, 1)}
_COUNTED = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAME = re.compile(r"[A-Za-z0-9_]+")


class _Group:
    """An open group: its finished alternatives and the parts of the last one."""

    def __init__(self, folds: bool) -> None:
        self.folds = folds
        """Whether case was ignored where the group began."""
        self.choices: list[RegexNode] = []
        self.parts: list[RegexNode] = []

    def next_choice(self) -> None:
        """End the present alternative, at a bar or at the end of the group."""
        self.choices.append(nodes.sequence(self.parts))
        self.parts = []


def parse(text: str, alphabet: Alphabet = ASCII) -> RegexNode:
    """Parse a pattern for texts of this alphabet. Raises `PatternError`."""
    if len(text) > MAX_LENGTH:
        raise PatternError(f"expression longer than {MAX_LENGTH} characters")
    return _Parser(text, alphabet).parse()


class _Parser:
    def __init__(self, text: str, alphabet: Alphabet) -> None:
        self._reader = Reader(text, alphabet)
        self._groups = [_Group(False)]
        self._folds = False
        self._names: set[str] = set()

    def parse(self) -> RegexNode:
        reader = self._reader
        repeats = False
        while reader.has_more:
            character = reader.text[reader.at]
            if character in "*+?" or (character == "{" and self._is_counted()):
                self._repeat(repeats)
                repeats = True
                continue
            repeats = False
            self._one(character)
        if len(self._groups) > 1:
            raise PatternError("missing closing )")
        return self._close()

    def _one(self, character: str) -> None:
        """Read one part of a pattern that is not a repetition."""
        reader = self._reader
        match character:
            case "(":
                self._open()
            case ")":
                if len(self._groups) == 1:
                    raise PatternError("regexp/syntax: internal error")
                reader.at += 1
                folds = self._groups[-1].folds
                self._push(self._close())
                self._folds = folds
            case "|":
                reader.at += 1
                self._groups[-1].next_choice()
            case "^":
                reader.at += 1
                self._push(nodes.at(Where.BEGIN))
            case "$":
                reader.at += 1
                self._push(nodes.at(Where.END))
            case ".":
                reader.at += 1
                self._push(nodes.one_of(reader.alphabet.everything))
            case "[":
                self._push(nodes.one_of(read_class(reader, self._folds)))
            case "\\":
                self._escape()
            case _:
                reader.at += 1
                self._literal(ord(character))

    def _literal(self, code: int) -> None:
        alphabet = self._reader.alphabet
        mask = alphabet.folded_span(code, code) if self._folds else alphabet.span(code, code)
        self._push(nodes.one_of(mask))

    def _push(self, node: RegexNode) -> None:
        self._groups[-1].parts.append(node)

    def _close(self) -> RegexNode:
        group = self._groups.pop()
        group.next_choice()
        return nodes.choice(group.choices)

    # --- repetitions

    def _is_counted(self) -> bool:
        return _COUNTED.match(self._reader.text, self._reader.at) is not None

    def _repeat(self, follows_another: bool) -> None:
        reader = self._reader
        found = _COUNTED.match(reader.text, reader.at)
        if found is None:
            least, most = _STARS[reader.text[reader.at]]
            reader.at += 1
        else:
            least, most = _bounds(found)
            reader.at = found.end()
        if reader.has_more and reader.text[reader.at] == "?":
            reader.at += 1
        if follows_another:
            raise PatternError("invalid nested repetition operator")
        parts = self._groups[-1].parts
        if not parts:
            raise PatternError("missing argument to repetition operator")
        parts[-1] = nodes.repeat(parts[-1], least, most)

    # --- escapes and groups

    def _escape(self) -> None:
        reader = self._reader
        letter = reader.text[reader.at + 1 : reader.at + 2]
        if letter in _PLACES and letter:
            reader.at += 2
            self._push(nodes.at(_PLACES[letter]))
        elif letter == "Q":
            end = reader.text.find("\\E", reader.at + 2)
            literal = reader.text[reader.at + 2 : end if end >= 0 else None]
            reader.at = end + 2 if end >= 0 else len(reader.text)
            for character in literal:
                self._literal(ord(character))
        else:
            mask = class_escape(reader, self._folds)
            if mask is not None:
                self._push(nodes.one_of(mask))
            else:
                self._literal(read_escape(reader))

    def _open(self) -> None:
        reader = self._reader
        if not reader.text.startswith("(?", reader.at):
            reader.at += 1
            self._groups.append(_Group(self._folds))
            return
        for prefix in ("(?P<", "(?<"):
            if reader.text.startswith(prefix, reader.at):
                self._open_named(reader.at + len(prefix))
                return
        self._flags()

    def _open_named(self, begin: int) -> None:
        reader = self._reader
        end = reader.text.find(">", begin)
        name = reader.text[begin:end]
        if end < 0 or not _NAME.fullmatch(name):
            raise PatternError("invalid named capture")
        if name in self._names:
            raise PatternError("duplicate capture group name")
        self._names.add(name)
        reader.at = end + 1
        self._groups.append(_Group(self._folds))

    def _flags(self) -> None:
        """Read `(?flags)` for the rest of the group, or `(?flags:` for a new group.

        Only the case flag has an effect.
        """
        reader = self._reader
        reader.at += 2
        folds, negated, said = self._folds, False, False
        while reader.has_more:
            character = reader.take()
            if character in _FLAGS:
                said = True
                if character == "i":
                    folds = not negated
            elif character == "-" and not negated:
                negated, said = True, False
            elif character in ":)" and (said or not negated):
                if character == ":":
                    self._groups.append(_Group(self._folds))
                self._folds = folds
                return
            else:
                break
        raise PatternError("invalid or unsupported Perl syntax")


def _bounds(found: re.Match[str]) -> tuple[int, int]:
    """Return the least and the most of `{least}`, `{least,}` or `{least,most}`."""
    least = _number(found[1])
    most = least if found[2] is None else UNLIMITED if found[3] is None else _number(found[3])
    if least > MAX_REPEAT or most > MAX_REPEAT or (most != UNLIMITED and least > most):
        raise PatternError("invalid repeat count")
    return least, most


def _number(digits: str) -> int:
    """Return the number of these digits; with too many digits, a number above every allowed count."""
    return int(digits) if len(digits) <= len(str(MAX_REPEAT)) else MAX_REPEAT + 1
