"""Rules from the names of certificates to principals."""

from __future__ import annotations

import time

import pytest

from kcompat.errors import ConfigError
from kcompat.security.principal_mapping import MAX_NAME, principal_name, read_rules

KIP_371 = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U"
)


def mapped(rules: str, name: str) -> str | None:
    return principal_name(read_rules(rules), name)


@pytest.mark.parametrize(
    ("name", "principal"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("O=mycp,CN=duke.x", "DUKE.X"),
        ("O=mycp", None),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_decides(name: str, principal: str | None) -> None:
    assert mapped(KIP_371, name) == principal
    assert mapped(f"{KIP_371} , DEFAULT", name) == (principal or name)


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", "CN=a", "CN=a"), ("", "CN=a", None), (" , ", "CN=a", None), (",DEFAULT", "CN=a", "CN=a"),
        ("RULE:CN=a/b/", "CN=a", "b"), ("RULE:CN=a/b/", "CN=ab", None), ("RULE:N=a/b/", "CN=a", None),
        ("RULE:.*/x/", "CN=a", "xx"),  # as `replaceAll` does: the empty rest matches once more
        (r"RULE:CN=(a\/b)/$1/", "CN=a/b", "a/b"), (r"RULE:CN=a/b\/c/", "CN=a", "b/c"),
        (r"RULE:CN=(a)/\$1\\$1/", "CN=a", r"$1\a"), ("RULE:CN=(a)/$2/", "CN=a", "$2"),
        ("RULE:CN=(a)/$12/", "CN=a", "a2"), ("RULE:CN=(a)/$0/", "CN=a", "CN=a"),
        ("RULE:CN=(a)?(b)?/[$1$2]/", "CN=b", "[b]"), ("RULE:CN=([^,]+).*/$1/", "CN=a,O=b", "a"),
        ("RULE:CN=(.*)/$1/L", "CN=ÄB", "äb"), ("RULE:CN=.*/x/", "CN=a\nb", None),
    ],
)  # fmt: skip
def test_names_are_replaced_as_in_java(rules: str, name: str, principal: str | None) -> None:
    assert mapped(rules, name) == principal


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("foo", "has an invalid rule: `foo`, unmatched substring: `foo`"),
        ("DEFAULTS", "has an invalid rule: `DEFAULTS`, unmatched substring: `S`"),
        ("RULE:a/b/X", "has an invalid rule: `RULE:a/b/X`, unmatched substring: `X`"),
        ("RULE:a/b", "has an invalid rule: `RULE:a/b`, unmatched substring: `RULE:a/b`"),
        ("RULE:(a/b/", "has the pattern `(a`, which is not supported: missing closing )"),
        ("RULE:(?=a)/b/", "has the pattern `(?=a)`, which is not supported: "),
        ("RULE:a/$1/", "has the replacement `$1`, but the pattern has no group"),
        ("RULE:(a+)+/b/", "has the pattern `(a+)+`, which repeats a repetition"),
        ("RULE:((a*)b){2,}/b/", "has the pattern `((a*)b){2,}`, which repeats a repetition"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(rules: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(rules)
    assert f"ssl.principal.mapping.rules {message}" in str(caught.value)


@pytest.mark.parametrize("pattern", [r"[(*+]*x", r"(\(*)x", "(a*)b*", r"[]*)]+a"])
def test_what_only_looks_like_a_repeated_repetition_is_allowed(pattern: str) -> None:
    assert len(read_rules(f"RULE:{pattern}/x/")) == 1


def test_long_names_have_no_principal() -> None:
    assert mapped("DEFAULT", "a" * MAX_NAME) is not None
    assert mapped("DEFAULT", "a" * (MAX_NAME + 1)) is None


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("(.*),(.*),(.*),(.*),(.*),(.*)x", "," * MAX_NAME),
        ("(a|aa)*b", "a" * MAX_NAME),
        ("CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)", "CN=" + ",OU=,O=,L=,ST=" * 250),
    ],
)
def test_a_name_that_does_not_match_takes_no_time(pattern: str, name: str) -> None:
    rules = read_rules(f"RULE:{pattern}/x/")
    started = time.process_time()
    assert principal_name(rules, name) is None
    assert time.process_time() - started < 1, "a search that goes back would take years"
