"""Java's names of cipher suites."""

from __future__ import annotations

import ssl

import pytest

from kcompat.security.tls_context import openssl_name


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"),
    ],
)
def test_openssl_knows_the_suite_by_another_name(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(openssl)
    assert openssl in [suite["name"] for suite in context.get_ciphers()]


@pytest.mark.parametrize(
    "java", ["", "TLS_NULL_WITH_NULL_NULL", "ECDHE-RSA-AES128-SHA", "TLS_RSA_WITH_RC4_128_MD5"]
)
def test_other_names_are_no_suites(java: str) -> None:
    assert openssl_name(java) is None
