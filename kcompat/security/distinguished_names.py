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
_CHARSETS: Final = {
    0x0C: "utf-8",  # UTF8String
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # T61String
    0x16: "ascii",  # IA5String
    0x1B: "ascii",  # GeneralString
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
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
    keyword, charset = _KEYWORDS.get(identifier), _CHARSETS.get(value.tag)
    if keyword is None or charset is None:
        return f"{keyword or identifier}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode(charset, 'replace'))}"


def _dotted(content: bytes) -> str:
    """Return an object identifier in numbers."""
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
    """Return the text with special characters escaped, also space at the beginning and at the end."""
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
