"""PEM texts (RFC 7468), as tolerant as Kafka is: line breaks may be missing, as in a properties file."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

_BLOCK: Final = re.compile(
    r"-----BEGIN\s+(?P<label>[A-Z0-9 ]+?)\s*-----\s*"
    r"(?P<headers>(?:[A-Za-z-]+:[^\r\n]*[\r\n]+)*)"
    r"(?P<body>[A-Za-z0-9/+=\s]*)"
    r"-----END\s+(?P=label)\s*-----"
)
_LINE: Final = 64

CERTIFICATES: Final = frozenset({"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"})


class Block(Struct, frozen=True):
    """One block of a PEM text. Its `repr` does not show the content, which may be a secret."""

    label: str
    headers: str
    body: str

    def __repr__(self) -> str:
        return f"Block({self.label})"

    @property
    def is_certificate(self) -> bool:
        """Whether the block is a certificate."""
        return self.label in CERTIFICATES

    @property
    def is_key(self) -> bool:
        """Whether the block is a private key, encrypted or not."""
        return self.label.endswith("PRIVATE KEY")

    def __str__(self) -> str:
        """Return the block as a PEM text with lines of 64 characters."""
        text = "".join(self.body.split())
        lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
        headers = f"{self.headers.strip()}\n\n" if self.headers else ""
        return "\n".join(
            [f"-----BEGIN {self.label}-----", *lines, f"-----END {self.label}-----", ""]
        ).replace("-----\n", f"-----\n{headers}", 1)


def blocks(text: str) -> list[Block]:
    """Return the blocks of a PEM text in their order; anything between blocks is ignored."""
    return [Block(found["label"], found["headers"], found["body"]) for found in _BLOCK.finditer(text)]
