"""The names in certificates."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from cryptography.x509 import DNSName, SubjectAlternativeName, load_der_x509_certificate
from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.security.certificates import DerError, elements, read_certificate
from support.tls_authority import Authority

AUTHORITY = Authority()
DER = ssl.PEM_cert_to_DER_cert(AUTHORITY.broker.cert_chain_pems[0].bytes().decode())


def test_the_names_are_those_that_another_library_reads() -> None:
    certificate, expected = read_certificate(DER), load_der_x509_certificate(DER)
    assert certificate.subject == expected.subject.public_bytes()
    names = expected.extensions.get_extension_for_class(SubjectAlternativeName).value
    assert len(certificate.alternative_names) == len(list(names)) == 2
    assert bytes([0x82, 9]) + b"localhost" in certificate.alternative_names
    assert names.get_values_for_type(DNSName) == ["localhost"]


def test_a_cut_certificate_is_an_error() -> None:
    for size in range(len(DER)):
        with pytest.raises(DerError):
            read_certificate(DER[:size])


@settings(max_examples=1000)
@given(st.integers(0, len(DER) - 1), st.integers(0, 255))
def test_a_damaged_certificate_is_read_or_an_error(place: int, byte: int) -> None:
    damaged = bytearray(DER)
    damaged[place] = byte
    with suppress(DerError):
        read_certificate(bytes(damaged))


@given(st.binary(max_size=40))
def test_random_bytes_are_read_or_an_error(data: bytes) -> None:
    try:
        read = list(elements(data))
    except DerError:
        return
    assert b"".join(element.encoded for element in read) == data
