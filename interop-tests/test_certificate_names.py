"""Names of certificates and of principals, compared with those that Java and Kafka 3.9.2 make of them."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Final

import pytest
from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type

from commands import QUICK_JVM, compile_java, run
from drivers.remote import HERE
from kcompat.errors import ConfigError
from kcompat.security.distinguished_names import name_text
from kcompat.security.principal_mapping import principal_name, read_rules
from support.kafka_jars import class_path

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION: Final = "3.9.2"
KINDS: Final = (
    "2.5.4.3", "2.5.4.4", "2.5.4.5", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11", "2.5.4.12",
    "2.5.4.42", "2.5.4.46", "0.9.2342.19200300.100.1.1", "0.9.2342.19200300.100.1.25",
    "1.2.840.113549.1.9.1", "1.3.6.1.4.1.42.2.11.2.1", "2.999.5000000.1",
)  # fmt: skip
ENCODINGS: Final = (
    _ASN1Type.UTF8String, _ASN1Type.PrintableString, _ASN1Type.IA5String, _ASN1Type.BMPString,
    _ASN1Type.UniversalString,
)  # fmt: skip
CHARACTERS: Final = "abcXYZ019  ,=+<>#;\"\\/.@-'()?:*_\r\n\t\0äßλ字😀"
ASCII: Final = "".join(character for character in CHARACTERS if character.isascii())
RULES: Final = (
    "DEFAULT",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L,DEFAULT",
    r"RULE:^CN=([^,\\]+).*$/$1/U, RULE:.*/none/",
    r"RULE:CN=(\w+)(.*)/$2-$1$3\$\//,RULE:(.*)=(.*)/$0:$12/",
    "RULE:[^,]*/x/,RULE:.*,.*/[$0]/", "RULE:.*,.*/[$1]/",
    "RULE:(O=)?(CN=)?(.*)/<$1|$2|$3>/L",
    "foo", "RULE:a/b", "RULE:a/b/X", "RULE:.*/ab/ , , DEFAULT", "",
)  # fmt: skip


def random_name(chosen: random.Random) -> bytes:
    """A distinguished name of random parts, as DER."""
    parts = []
    for _ in range(chosen.randrange(1, 5)):
        attributes = {}
        for kind in chosen.sample(KINDS, chosen.choice((1, 1, 1, 2))):
            encoding = chosen.choice(ENCODINGS)
            wide = encoding not in (_ASN1Type.PrintableString, _ASN1Type.IA5String)
            text = "".join(chosen.choices(CHARACTERS if wide else ASCII, k=chosen.randrange(1, 12)))
            attributes[kind] = NameAttribute(ObjectIdentifier(kind), text, encoding, _validate=False)
        parts.append(RelativeDistinguishedName(attributes.values()))
    return Name(parts).public_bytes()


@pytest.fixture(scope="module")
def ask_java(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[str | None]]:
    """Function that returns the answers of the Java program; None for each that is an exception."""
    if shutil.which("javac") is None:
        pytest.skip("install a Java 17 JDK")
    classes = tmp_path_factory.mktemp("names")
    compile_java(class_path(VERSION), classes, HERE.parent / "java" / "names" / "Names.java")

    def ask(lines: list[str]) -> list[str | None]:
        command = [*QUICK_JVM, "-cp", f"{classes}:{class_path(VERSION)}", "Names"]
        answers = run(command, "\n".join(lines).encode()).splitlines()
        return [None if answer == "-" else bytes.fromhex(answer).decode() for answer in answers]

    return ask


def test_names_are_those_of_java(ask_java: Callable[[list[str]], list[str | None]]) -> None:
    chosen = random.Random(1)
    names = [random_name(chosen) for _ in range(2000)]
    for name, expected in zip(names, ask_java([f"name {name.hex()}" for name in names]), strict=True):
        assert name_text(name) == expected, name.hex()


def test_principals_are_those_of_kafka(ask_java: Callable[[list[str]], list[str | None]]) -> None:
    chosen = random.Random(2)
    texts = [name_text(random_name(chosen)) for _ in range(100)]
    texts += ["CN=alice,OU=people,O=Example", "CN=Alice", "O=CN=x", "CN=a,b"]
    asked = [(rules, text) for rules in RULES for text in texts if "\r" not in text and "\n" not in text]
    lines = [
        f"map {rules.encode().hex()} {text.encode().hex()}".replace("map  ", "map 20 ")
        for rules, text in asked
    ]
    for (rules, text), expected in zip(asked, ask_java(lines), strict=True):
        try:
            found = principal_name(read_rules(rules), text)
        except ConfigError:
            found = None
        assert found == expected, (rules, text)
