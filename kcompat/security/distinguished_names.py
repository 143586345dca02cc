"""Distinguished names as the text that Java's `X500Principal.getName` gives, by which Kafka knows clients.

The form is RFC 2253 with Java's choices: the last part of a name first, keywords for nine types of
attributes, and `#` with the DER in hexadecimal for all others.
"""

from __future__ import annotations

from typing import Final

from kcompat.security.certificates import DerError, Element, elements

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXT: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""Tags of the string types that Java writes as text. Java reads all of them as UTF-8, even UTF-16 strings."""
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_SPACE: Final = " \r"


def name_text(name: bytes) -> str:
    """Return the text of a distinguished name, given as DER. Raises `DerError`."""
    try:
        relative_names = next(elements(name)).parts()
        return ",".join("+".join(map(_attribute, each.parts())) for each in reversed(relative_names))
    except (StopIteration, ValueError) as error:
        raise DerError("its distinguished name is malformed") from error


def _attribute(attribute: Element) -> str:
    kind, value = attribute.parts()
    identifier = _dotted(kind.content)
    keyword = _KEYWORDS.get(identifier)
    if keyword is None or value.tag not in _TEXT:
        return f"{keyword or identifier}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _dotted(content: bytes) -> str:
    """Return an object identifier as its numbers, separated by periods."""
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] & 0x80:
        raise DerError("an object identifier ends too early")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _escaped(text: str) -> str:
    """Return the text with special characters escaped, including spaces at the beginning and at the end."""
    lead = len(text) - len(text.lstrip(_SPACE))
    trail = len(text.rstrip(_SPACE))
    return "".join(
        "\\" + character
        if character in _ESCAPED or (character in _SPACE and not lead <= place < trail)
        else "\\00"
        if character == "\0"
        else character
        for place, character in enumerate(text)
    )
