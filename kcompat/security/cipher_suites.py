"""Names of cipher suites: Java's, which Kafka's settings use, and OpenSSL's."""

from __future__ import annotations

import re
from typing import Final

TLS_1_3: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}
)
"""The suites of TLS 1.3, which have the same names in Java and in OpenSSL."""

_SUITE: Final = re.compile(
    "TLS_(?P<exchange>RSA|DHE_RSA|ECDHE_RSA|ECDHE_ECDSA)_WITH_"
    "(?:AES_(?P<bits>128|256)_(?P<mode>CBC|GCM)_(?P<hash>SHA|SHA256|SHA384)|CHACHA20_POLY1305_SHA256)"
)


def openssl_name(java: str) -> str | None:
    """Return OpenSSL's name of a suite of TLS 1.2; None for a name that is none of Java's.

    OpenSSL need not have the suite.
    """
    found = _SUITE.fullmatch(java)
    if found is None:
        return None
    exchange = "" if found["exchange"] == "RSA" else found["exchange"].replace("_", "-") + "-"
    if found["bits"] is None:
        return f"{exchange}CHACHA20-POLY1305"
    mode = "GCM-" if found["mode"] == "GCM" else ""
    return f"{exchange}AES{found['bits']}-{mode}{found['hash']}"
