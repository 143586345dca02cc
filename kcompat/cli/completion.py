"""`kcompat completion`: scripts by which bash, zsh and fish complete commands and options.

The scripts are made of the parsers of all commands, and hold everything: completing starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Final

from kcompat.commands.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from kcompat.commands.options import OptionParser

    Words: TypeAlias = Mapping[str, str]
    """Words to complete, with their help texts."""

SHELLS: Final = ("bash", "zsh", "fish")


def add_completion(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], parser: argparse.ArgumentParser
) -> None:
    """Add the parser of the command; `parser` is the one of all commands."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description='Print a script for a shell. bash: eval "$(kcompat completion bash)" in ~/.bashrc. '
        "zsh: the same in ~/.zshrc, behind compinit. fish: kcompat completion fish > "
        "~/.config/fish/completions/kcompat.fish.",
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(all_commands=parser)


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell for all commands."""
    print(_SCRIPTS[options.shell](completions(options.all_commands)), end="")
    return 0


def completions(parser: argparse.ArgumentParser) -> dict[str, Words]:
    """Return the words that may follow each command, and the commands under the empty name."""
    own = _sub_commands(parser)
    found: dict[str, Words] = {name: _words(command) for name, (command, _) in own.items()}
    for command in COMMANDS.values():
        found[command.name] = _words(command.load_parser())
    texts = {name: text for name, (_, text) in own.items()}
    texts |= {command.name: command.help for command in COMMANDS.values()}
    return {"": texts, **found}


def _sub_commands(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    found: dict[str, tuple[argparse.ArgumentParser, str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {each.dest: each.help or "" for each in action._choices_actions}
            found |= {name: (each, texts.get(name, "")) for name, each in action.choices.items()}
    return found


def _words(parser: argparse.ArgumentParser | OptionParser) -> Words:
    """Return the options of a command, its actions, and the options of these."""
    if not isinstance(parser, argparse.ArgumentParser):
        return {
            f"{'-' if len(name) == 1 else '--'}{name}": option.text for name, option in parser.options.items()
        }
    found = {name: action.help or "" for action in parser._actions for name in action.option_strings}
    for name, (command, text) in _sub_commands(parser).items():
        found[name] = text
        found |= _words(command)
    return found


def _bash(found: Mapping[str, Words]) -> str:
    cases = "".join(
        f"        {shlex.quote(name)}) words={shlex.quote(' '.join(words))} ;;\n"
        for name, words in found.items()
        if name
    )
    return (
        "_kcompat() {\n"
        '    local current="${COMP_WORDS[COMP_CWORD]}" words=""\n'
        f'    if [ "$COMP_CWORD" -eq 1 ]; then\n        words={shlex.quote(" ".join(found[""]))}\n    else\n'
        f'        case "${{COMP_WORDS[1]}}" in\n{cases}        esac\n    fi\n'
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))\n'
        "}\n"
        "complete -o default -F _kcompat kcompat\n"
    )


def _zsh(found: Mapping[str, Words]) -> str:
    cases = "".join(
        f"        {shlex.quote(name)}) choices=({' '.join(map(_zsh_word, words.items()))}) ;;\n"
        for name, words in found.items()
        if name
    )
    return (
        "_kcompat() {\n"
        "    local command=$words[2]\n"
        "    local -a choices\n"
        "    if (( CURRENT == 2 )); then\n"
        f"        choices=({' '.join(map(_zsh_word, found[''].items()))})\n"
        f"    else\n        case $command in\n{cases}        esac\n    fi\n"
        "    _describe -o kcompat choices || _files\n"
        "}\n"
        "compdef _kcompat kcompat\n"
    )


def _zsh_word(item: tuple[str, str]) -> str:
    word, text = item
    return shlex.quote(f"{word.replace(':', chr(92) + ':')}:{text}")


def _fish(found: Mapping[str, Words]) -> str:
    lines = [
        f"complete -c kcompat -n __fish_use_subcommand -f -a {word} -d {shlex.quote(text)}"
        for word, text in found[""].items()
    ]
    for name, words in found.items():
        for word, text in words.items() if name else ():
            kind = (
                f"-l {word[2:]}"
                if word.startswith("--")
                else f"-s {word[1:]}"
                if word[0] == "-"
                else f"-a {word}"
            )
            lines.append(
                f"complete -c kcompat -n '__fish_seen_subcommand_from {name}' {kind} -d {shlex.quote(text)}"
            )
    return "\n".join(lines) + "\n"


_SCRIPTS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
