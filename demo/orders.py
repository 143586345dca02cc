"""The demo's records: orders from a few cities, the same in every run, so every total is known."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOPIC = "orders"
PARTITIONS = 4
CITIES = ("Berlin", "Kraków", "Lisbon", "Lyon", "Oslo", "Turin")
WEIGHTS = (30, 14, 11, 9, 6, 16)


@dataclass(frozen=True)
class Order:
    """One order: its number, where it came from and what it costs."""

    number: int
    city: str
    cents: int

    @property
    def key(self) -> bytes:
        """The record's key: orders of one city stay in order."""
        return self.city.encode()

    @property
    def value(self) -> bytes:
        """The record's value, as JSON."""
        return f'{{"number":{self.number},"city":"{self.city}","cents":{self.cents}}}'.encode()


def orders(first: int, count: int) -> Iterator[Order]:
    """The orders from number ``first`` on."""
    made = random.Random(first)  # noqa: S311 - made-up orders, not secrets
    for number in range(first, first + count):
        yield Order(number, made.choices(CITIES, WEIGHTS)[0], made.randrange(199, 20_000))


def totals(of: Iterable[Order]) -> dict[str, tuple[int, int]]:
    """Orders and cents by city."""
    sums: dict[str, tuple[int, int]] = {}
    for order in of:
        count, cents = sums.get(order.city, (0, 0))
        sums[order.city] = (count + 1, cents + order.cents)
    return sums
