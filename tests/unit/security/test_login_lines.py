from __future__ import annotations

import pytest

from kcompat.security.login_lines import login_line


def test_a_line_names_the_module_and_the_options() -> None:
    assert login_line("PLAIN", {"username": "alice", "password": "secret", "user_alice": "secret"}) == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="alice" password="secret" user_alice="secret";'
    )
    assert login_line("SCRAM-SHA-256", {}) == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    )


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("password", 'a"b\\c', r'password="a\"b\\c"'),
        ("password", "a\nb", r'password="a\nb"'),
        ("password", "a;b c", 'password="a;b c"'),
        ("user_a b", "x", '"user_a b"="x"'),
        ('user_"', "x", r'"user_\""="x"'),
        ("user_kcompat-broker", "x", 'user_kcompat-broker="x"'),
        ("user_müller", "x", '"user_müller"="x"'),
    ],
)
def test_characters_that_java_reads_otherwise_are_quoted(name: str, value: str, written: str) -> None:
    assert login_line("PLAIN", {name: value}).endswith(f" required {written};")
