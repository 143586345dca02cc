from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.errors import ConfigError
from kcompat.security.sasl.jaas import JaasLogin, parse_jaas

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (f"{MODULE} required;", {}),
        (f'{MODULE} required user_alice="secret";', {"user_alice": "secret"}),
        (f"{MODULE} required user_alice=secret user_bob='b';", {"user_alice": "secret", "user_bob": "b"}),
        (f"\n  {MODULE}\n\trequired\n  a = b\n  c=d\n;\n", {"a": "b", "c": "d"}),
        (f"{MODULE} Required a=1;", {"a": "1"}),
        (f'{MODULE} sufficient a="1;2=3 4/5\'";', {"a": "1;2=3 4/5'"}),
        (f"{MODULE} required a='say \"x\"';", {"a": 'say "x"'}),
        (
            rf'{MODULE} required a="q\"q" b="\\" c="\x" d="\n\t";',
            {"a": 'q"q', "b": "\\", "c": "x", "d": "\n\t"},
        ),
        (rf'{MODULE} required a="\101\60\477";', {"a": "A0'7"}),
        (f"{MODULE} required // a comment\n a=1; /* and another */", {"a": "1"}),
        (f'{MODULE} required a=b"c"=d;', {"a": "b", "c": "d"}),
        (f'{MODULE} required "user_a b"="x";', {"user_a b": "x"}),
        (f"{MODULE} required user_é=ü;", {"user_é": "ü"}),
        (f"{MODULE} required a=1 a=2;", {"a": "2"}),
    ],
)
def test_a_line_is_read_as_kafka_reads_it(line: str, options: dict[str, str]) -> None:
    assert parse_jaas(line) == JaasLogin(MODULE, options)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "does not begin with the class"),
        (";", "does not begin with the class"),
        ("// hunter2", "does not begin with the class"),
        ("hunter2", "has none of required"),
        ("hunter2;", "has none of required"),
        (f"{MODULE} hunter2;", "has none of required"),
        (f"{MODULE} required", "does not end with `;`"),
        (f"{MODULE} required user_a=hun/ter2;", "does not end with `;`"),
        (f"{MODULE} required user_a=hunter2", "does not end with `;`"),
        (f"{MODULE} required hunter2;", "has no value for its option 1"),
        (f"{MODULE} required a=1 hunter2;", "has no value for its option 2"),
        (f"{MODULE} required user_a=hunter2 hunter2 hunter2;", "has no value for its option 2"),
        (f"{MODULE} required user_a=;", "has no value for its option 1"),
        (f"{MODULE} required =hunter2;", "has a `=` without the name"),
        (f'{MODULE} required user_a="hunter2;', "a quote that is not closed"),
        (f'{MODULE} required user_a="hunter2\n";', "a quote that is not closed"),
        (f'{MODULE} required user_a="hunter2\\', "a quote that is not closed"),
        (f"{MODULE} required; hunter2 required;", "only one login module"),
    ],
)
def test_a_malformed_line_is_refused_without_repeating_it(line: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refusal:
        parse_jaas(line)
    assert "hunter" not in str(refusal.value)


def test_the_text_of_a_login_has_no_secret() -> None:
    login = parse_jaas(f"{MODULE} required password=hunter2;")
    assert "hunter2" not in f"{login} {login!r}"


@given(st.text(st.characters(exclude_characters='"\\\r\n', exclude_categories=["Cs"])))
def test_a_quoted_value_is_taken_as_it_is(value: str) -> None:
    assert parse_jaas(f'{MODULE} required a="{value}";').options == {"a": value}


@given(st.text(alphabet="ab=;/*'\"\\ \n\t1"))
def test_no_line_fails_otherwise_than_by_an_error_for_the_user(text: str) -> None:
    try:
        login = parse_jaas(f"{MODULE} required {text};")
    except ConfigError:
        return
    assert login.module == MODULE
