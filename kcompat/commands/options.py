"""The command line as joptsimple reads it, which most of Kafka's commands use, with its error texts.

`--flag value`, `--flag=value`, `-flag value`; an option takes the next word as its value, even one that
begins with a dash. There are no abbreviations, as in Kafka's commands. Kafka's counterparts:
`CommandDefaultOptions`, `CommandLineUtils`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from kcompat.admin.errors import JavaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")

WIDTH: Final = 80
"""Columns of a help text (`BuiltinHelpFormatter`)."""


class CommandExit(Exception):  # noqa: N818 - no error, but the end of the command
    """The end of a command with an exit code, after all output is printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def option_error(kind: str, message: str) -> JavaError:
    """Return the error of a command line that joptsimple cannot parse, `joptsimple.<kind>`."""
    return JavaError(kind, message, package="joptsimple.")


class Option:
    """One option that a parser accepts."""

    def __init__(self, names: tuple[str, ...], text: str, argument: str | None, optional: bool) -> None:
        self.names = tuple(sorted(names, key=lambda name: len(name) > 1))
        """The names, short ones first."""
        self.text = text
        """Description in the help text."""
        self.argument = argument
        """Description of the argument; None for an option without one."""
        self.optional = optional
        """Whether the argument may be missing."""

    @property
    def shown(self) -> str:
        """The names as joptsimple's errors show them."""
        return "/".join(self.names)

    def __str__(self) -> str:
        return f"[{', '.join(self.names)}]"


class OptionParser:
    """The options that a command accepts, `help` and `version` first."""

    def __init__(self, purpose: str) -> None:
        """`purpose` is the sentence that `--help` begins with."""
        self.purpose = purpose
        self.options: dict[str, Option] = {}
        self.accepts("help", "Print usage information.")
        self.accepts("version", "Display the version.")

    def accepts(
        self, names: str, text: str, argument: str | None = None, *, optional: bool = False
    ) -> Option:
        """Accept an option with these names, divided by `|`. An option with an `argument`, which is its
        description in the help, takes a value.
        """
        option = Option(tuple(names.split("|")), text, argument, optional)
        self.options |= dict.fromkeys(option.names, option)
        return option

    def accepts_connection(self) -> None:
        """Accept the options that name the brokers and the settings of the client."""
        self.accepts_servers()
        self.accepts(
            "command-config", "Properties file with settings of the client, such as TLS and SASL.", "file"
        )

    def accepts_servers(self) -> None:
        """Accept the option that names the brokers."""
        self.accepts(
            "bootstrap-server", "REQUIRED: The brokers to connect to, as HOST1:PORT1,HOST2:PORT2.", "server"
        )

    def accepts_output(self) -> None:
        """Accept `-o json`, which Kafka's commands do not have."""
        self.accepts("output|o", "What to print: text (default) or json.", "text|json")

    def parse(self, words: Sequence[str]) -> Options:
        """Return the options of a command line. Raises JavaError."""
        found = Options(self, list(words))
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                found.rest += rest
                break
            if not word.startswith("-") or word == "-":
                found.rest.append(word)
                continue
            name, value = self._split(word)
            self._take(found, self.options[name], value, rest)
        return found

    def _split(self, word: str) -> tuple[str, str | None]:
        """Return the name of an option, and its value if both are written in one word. Raises JavaError."""
        is_long = word.startswith("--")
        name, equals, value = word[2 if is_long else 1 :].partition("=")
        if name in self.options:
            return name, value if equals else None
        first = word[1]
        if not is_long and first in self.options:
            return first, word[2:]
        shown = name if is_long else first
        raise option_error("UnrecognizedOptionException", f"{shown} is not a recognized option")

    @staticmethod
    def _take(found: Options, option: Option, value: str | None, rest: list[str]) -> None:
        found.order.append(option.names[0])
        values = found.given.setdefault(option.names[0], [])
        if option.argument is None:
            return
        if value is not None:
            values.append(value)
        elif rest and not (option.optional and rest[0].startswith("-")):
            values.append(rest.pop(0))
        elif not option.optional:
            raise option_error(
                "OptionMissingRequiredArgumentException", f"Option {option.shown} requires an argument"
            )

    # Ends of a command

    def fail(self, message: str) -> NoReturn:
        """Print a message and the help to standard error, and end with exit code 1."""
        sys.stderr.write(f"{message}\n")
        sys.stderr.write(self.help())
        raise CommandExit(1)

    def help(self) -> str:
        """Return the table of options."""
        rows = [(_left(option), option.text) for _, option in sorted(self._unique().items())]
        return _table([("Option", "Description"), ("------", "-----------"), *rows])

    def _unique(self) -> dict[str, Option]:
        return {option.names[0]: option for option in self.options.values()}


class Options:
    """The options of one command line."""

    def __init__(self, parser: OptionParser, words: list[str]) -> None:
        self.parser = parser
        self.words = words
        self.given: dict[str, list[str]] = {}
        """Values by the first name of the option."""
        self.order: list[str] = []
        """First names of the options in the order of the command line."""
        self.rest: list[str] = []
        """Words that belong to no option."""

    def has(self, name: str) -> bool:
        """Return whether an option was given."""
        return self.parser.options[name].names[0] in self.given

    def values(self, name: str) -> list[str]:
        """Return the values of an option in order."""
        return self.given.get(self.parser.options[name].names[0], [])

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value of an option, or `default`. Raises JavaError if it was given several times."""
        values = self.values(name)
        if len(values) > 1:
            shown = self.parser.options[name].shown
            raise option_error(
                "MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {shown}, but you asked for only one",
            )
        return values[0] if values else default

    def number(self, name: str, default: int | None = None) -> Any:
        """Return the value of an option as an integer of 32 bits, or `default`. Raises JavaError."""
        return self.converted(name, _integer, default)

    def converted(self, name: str, convert: Callable[[str], T], default: T | None = None) -> Any:
        """Return `convert(value)` of an option; a ValueError becomes joptsimple's error."""
        text = self.value(name)
        if text is None:
            return default
        try:
            return convert(text)
        except ValueError:
            shown = self.parser.options[name].shown
            raise option_error(
                "OptionArgumentConversionException", f"Cannot parse argument '{text}' of option {shown}"
            ) from _reflection(text)

    @property
    def json(self) -> bool:
        """Whether `-o json` was given."""
        wanted = self.value("output", "text") if "output" in self.parser.options else "text"
        if wanted not in ("text", "json"):
            self.parser.fail(f"--output takes text or json, not {wanted}")
        return wanted == "json"

    # Checks, in the words of CommandLineUtils

    def end_for_help(self, *, no_words: bool = True) -> None:
        """End the command if it was called for help or the version, or, with `no_words`, with nothing."""
        if self.has("help") or (no_words and not self.words):
            self.parser.fail(self.parser.purpose)
        if self.has("version"):
            from importlib.metadata import version

            sys.stdout.write(f"kcompat {version('kcompat')}\n")
            raise CommandExit(0)

    def require(self, *names: str) -> None:
        """End the command with an error unless all of the options were given."""
        for name in names:
            if not self.has(name):
                self.parser.fail(f'Missing required argument "{self.parser.options[name]}"')

    def forbid(self, used: str, others: Iterable[str]) -> None:
        """End the command with an error if option `used` was given with one of the others."""
        if not self.has(used):
            return
        for other in others:
            if self.has(other):
                options = self.parser.options
                self.parser.fail(f'Option "{options[used]}" can\'t be used with option "{options[other]}"')

    def forbid_together(self, used: Sequence[str], others: Iterable[str], more: str = "") -> None:
        """End the command with an error if all options of `used` were given, and one of the others."""
        if not all(map(self.has, used)):
            return
        for other in others:
            if self.has(other):
                options = self.parser.options
                combination = ", ".join(str(options[each]) for each in used)
                self.parser.fail(
                    f'Option combination "[{combination}]" can\'t be used with option '
                    f'"{options[other]}"{more}'
                )


def illegal(message: str) -> JavaError:
    """Return Java's error of an invalid argument."""
    return JavaError("IllegalArgumentException", message, package="java.lang.")


def no_number(text: str) -> JavaError:
    """Return Java's error of a text that is not a number."""
    return JavaError("NumberFormatException", f'For input string: "{text}"', package="java.lang.")


def terse(message: str) -> JavaError:
    """Return an error for which Kafka's commands print only the message, `TerseException`."""
    return JavaError("TerseException", message, package="org.apache.kafka.tools.")


def _reflection(text: str) -> JavaError:
    """Return the cause that joptsimple names for a text that is not a number."""
    cause = no_number(text)
    error = option_error("internal.ReflectionException", cause.logged())
    error.__cause__ = cause
    return error


def _integer(text: str) -> int:
    from kcompat.config.java_text import parse_integer

    return parse_integer(text, 32)


def _left(option: Option) -> str:
    names = ", ".join(f"{'-' if len(name) == 1 else '--'}{name}" for name in option.names)
    if option.argument is None:
        return names
    return f"{names} [{option.argument}]" if option.optional else f"{names} <{option.argument}>"


def _table(rows: list[tuple[str, str]]) -> str:
    """Return two columns, of which the second wraps."""
    import textwrap

    left = min(max(len(first) for first, _ in rows), WIDTH // 2 - 3)
    lines = []
    for first, second in rows:
        heads = textwrap.wrap(first, left, break_on_hyphens=False) or [""]
        tails = textwrap.wrap(second, WIDTH - left - 2, break_on_hyphens=False) or [""]
        for n in range(max(len(heads), len(tails))):
            head = heads[n] if n < len(heads) else ""
            tail = tails[n] if n < len(tails) else ""
            lines.append(f"{head:<{left}}  {tail}".rstrip())
    return "\n".join(lines) + "\n"
