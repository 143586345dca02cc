"""Lines that `kcompat start` prints when it serves clients, for users and for programs that wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from kcompat.config.listeners import THIS_MACHINE, is_wildcard
from kcompat.net.name_lookup import look_up
from kcompat.wording import as_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcompat.net.name_lookup import Address
    from kcompat.node.listeners import ServedListener

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
"""Seconds to wait for name servers until a name counts as one that does not resolve."""


def announce(
    addresses: str,
    listeners: Sequence[ServedListener],
    directories: Sequence[str],
    zookeeper: tuple[str, int] | None,
    control: str | None,
    metrics: Iterable[str] = (),
    others: Iterable[str] = (),
) -> None:
    """Print where brokers listen, where they store, and where ZooKeeper clients, the control port and metrics
    are served, if at all, and then `others`. `metrics` are URLs without a path.

    Programs wait for the first line: what a client needs, such as files, must be there before.

    `addresses` are the `bootstrap.servers` for clients of this machine. A listener gets a line of its own if
    `addresses` does not show all of it.
    """
    lines = [f"kcompat is listening on {addresses} and stores in {', '.join(directories)}"]
    lines += _lines_of(listeners)
    if zookeeper is not None:
        lines.append(f"ZooKeeper's clients are served at {as_address(*zookeeper)}")
    if control is not None:
        lines.append(f"the control port is {control}")
    lines += [f"metrics are at {url}/metrics" for url in metrics]
    print("\n".join([*lines, *others]), flush=True)


def _lines_of(listeners: Sequence[ServedListener]) -> Iterator[str]:
    names = Counter(listener.name for listener in listeners)
    for listener in listeners:
        bound = listener.host, listener.port
        if len(names) > 1 or is_wildcard(listener.host) or listener.told not in {None, bound}:
            at = (
                f"every interface, port {listener.port}" if is_wildcard(listener.host) else as_address(*bound)
            )
            advertised = (
                "the address that they connect to" if listener.told is None else as_address(*listener.told)
            )
            yield f"listener {listener.name} is bound to {at}; clients are told {advertised}"


async def warn_of_unknown_names(listeners: Sequence[ServedListener], patience_s: float = PATIENCE_S) -> None:
    """Log a warning for each advertised host name that does not resolve within `patience_s`."""
    advertised = dict.fromkeys(each.told for each in listeners if each.told and each.told[0] != THIS_MACHINE)
    await asyncio.gather(*(_warn_unless_known(host, port, patience_s) for host, port in advertised))


async def _warn_unless_known(host: str, port: int, patience_s: float) -> None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Sequence[Address]] = loop.create_future()

    def found(addresses: Sequence[Address]) -> None:
        if not answer.done():
            answer.set_result(addresses)

    look_up(loop, host, port, found)
    try:
        is_known, within = bool(await asyncio.wait_for(answer, patience_s)), ""
    except TimeoutError:
        is_known, within = False, f" within {patience_s:g} s"
    if not is_known:
        logger.warning(
            "clients are told to connect to %s, but %s does not resolve%s on this machine: those that cannot "
            "resolve it either will not reach the broker (see advertised.listeners)",
            as_address(host, port),
            host,
            within,
        )
