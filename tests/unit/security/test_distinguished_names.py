"""Distinguished names in Java's form; `interop-tests` compares them with Java's own."""

from __future__ import annotations

from contextlib import suppress

import pytest
from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from kcompat.security.certificates import DerError
from kcompat.security.distinguished_names import name_text


def text_of(*attributes: NameAttribute[str]) -> str:
    return name_text(Name(list(attributes)).public_bytes())


def test_the_last_part_comes_first() -> None:
    assert (
        text_of(
            NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            NameAttribute(NameOID.STATE_OR_PROVINCE_NAME, "Berlin"),
            NameAttribute(NameOID.LOCALITY_NAME, "Mitte"),
            NameAttribute(NameOID.ORGANIZATION_NAME, "Example"),
            NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "people"),
            NameAttribute(NameOID.COMMON_NAME, "alice"),
        )
        == "CN=alice,OU=people,O=Example,L=Mitte,ST=Berlin,C=DE"
    )


def test_types_without_a_keyword_are_in_hexadecimal() -> None:
    mail = NameAttribute(NameOID.EMAIL_ADDRESS, "a@b", _ASN1Type.IA5String)
    serial = NameAttribute(NameOID.SERIAL_NUMBER, "7", _ASN1Type.PrintableString)
    assert text_of(mail, serial) == "2.5.4.5=#130137,1.2.840.113549.1.9.1=#160361 4062".replace(" ", "")


def test_domain_components_and_user_ids_have_keywords() -> None:
    assert (
        text_of(
            NameAttribute(NameOID.DOMAIN_COMPONENT, "org"),
            NameAttribute(NameOID.DOMAIN_COMPONENT, "example"),
            NameAttribute(NameOID.USER_ID, "alice"),
            NameAttribute(NameOID.STREET_ADDRESS, "High Street 1"),
        )
        == "STREET=High Street 1,UID=alice,DC=example,DC=org"
    )


def test_parts_of_several_attributes_are_joined() -> None:
    part = RelativeDistinguishedName(
        [NameAttribute(NameOID.COMMON_NAME, "alice"), NameAttribute(NameOID.USER_ID, "7")]
    )
    assert set(name_text(Name([part]).public_bytes()).split("+")) == {"CN=alice", "UID=7"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a,b", r"a\,b"), ('say "x"', r"say \"x\""), (r"a\b", r"a\\b"), ("#1", r"\#1"), ("a#1", r"a\#1"),
        ("a=b+c<d>e;f", r"a\=b\+c\<d\>e\;f"), (" a  b ", r"\ a  b\ "), ("  ", r"\ \ "),
        ("\ra\r", "\\\ra\\\r"),
        ("a\0b", r"a\00b"), ("Ünïcode", "Ünïcode"), ("a/b", "a/b"), ("a\nb", "a\nb"),
    ],
)  # fmt: skip
def test_special_characters_are_escaped(value: str, text: str) -> None:
    assert text_of(NameAttribute(NameOID.COMMON_NAME, value)) == f"CN={text}"


def test_other_encodings_are_read() -> None:
    for kind in (_ASN1Type.PrintableString, _ASN1Type.UTF8String, _ASN1Type.T61String):
        assert text_of(NameAttribute(NameOID.COMMON_NAME, "alice", kind)) == "CN=alice"
    assert text_of(NameAttribute(NameOID.COMMON_NAME, "a", _ASN1Type.BMPString)) == r"CN=\00a"
    assert text_of(NameAttribute(NameOID.COMMON_NAME, "a", _ASN1Type.UniversalString)) == "CN=#1c0400000061"


def test_long_object_identifiers_are_written_in_numbers() -> None:
    attribute = NameAttribute(ObjectIdentifier("2.999.100000.3"), "a")
    assert text_of(attribute) == "2.999.100000.3=#0c0161"


@given(st.binary(max_size=60))
def test_random_bytes_are_read_or_an_error(data: bytes) -> None:
    with suppress(DerError):
        assert isinstance(name_text(data), str)
