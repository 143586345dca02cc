"""Costs of one request for the quotas of its client (KIP-13, 124, 219, 599)."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.security.quotas.clients import ClientQuota

_PERCENT_OF_A_SECOND: Final = 100 / 1e9
"""One nanosecond of work in percent of a second."""
_UNLIMITED: Final = 2**31 - 1


class Charges:
    """Costs of one request for its client's quotas, and the time for which they throttle the client."""

    __slots__ = (
        "_begun_ns",
        "_is_time_charged",
        "_mutation_until_ms",
        "_now_ms",
        "_quota",
        "_spent_ns",
        "_work_ns",
        "is_exempt",
        "throttle_ms",
    )

    def __init__(
        self, quota: ClientQuota, now_ms: Callable[[], int], work_ns: Callable[[], int] = perf_counter_ns
    ) -> None:
        """Begin to measure the time in which the request is worked on, by the clock `work_ns` in ns."""
        self._quota = quota
        self._now_ms = now_ms
        self._work_ns = work_ns
        self._spent_ns = 0
        self._begun_ns = self._work_ns()
        self._is_time_charged = False
        self._mutation_until_ms = 0
        self.is_exempt = False
        """Whether the request is of another broker, and costs nothing."""
        self.throttle_ms = 0
        """For how many ms the client is throttled, as far as is known."""

    def pause(self) -> None:
        """Stop measuring the time until the next charge, since the request waits."""
        self._spent_ns += self._work_ns() - self._begun_ns
        self._begun_ns = 0

    def charge_time(self) -> None:
        """Count the time that the request has taken, once for a throttle time; further time counts, but
        throttles only later requests.
        """
        rate = self._quota.request
        if rate is None or self.is_exempt:
            return
        now_ns = self._work_ns()
        spent_ns = self._spent_ns + (now_ns - self._begun_ns if self._begun_ns else 0)
        self._spent_ns, self._begun_ns = 0, now_ns
        throttle_ms = rate.record(spent_ns * _PERCENT_OF_A_SECOND, self._now_ms())
        if not self._is_time_charged:
            self._throttle(throttle_ms)
        self._is_time_charged = True

    def charge_produced(self, size: int) -> None:
        """Count the bytes of a Produce request."""
        if self._quota.produce is not None:
            self._throttle(self._quota.produce.record(size, self._now_ms()))

    @property
    def most_fetched(self) -> int:
        """Bytes that one Fetch response may have without being throttled for certain."""
        rate = None if self.is_exempt else self._quota.fetch
        return _UNLIMITED if rate is None else rate.most_at_once

    def charge_fetched(self, size: int) -> bool:
        """Count the bytes of a Fetch response and the time that the request took. Return False if the client
        is throttled: then the response must be empty, and its bytes do not count.
        """
        if self.is_exempt:
            return True
        rate = self._quota.fetch
        if rate is not None:
            self._throttle(rate.record(size, self._now_ms()))
        self.charge_time()
        if not self.throttle_ms:
            return True
        if rate is not None:
            rate.take_back(size, self._now_ms())
        return False

    def charge_shared(self, size: int) -> None:
        """Count the bytes of a ShareFetch response, whose records are acquired and are sent in any case."""
        if self._quota.fetch is not None:
            self._throttle(self._quota.fetch.record(size, self._now_ms()))

    def charge_mutation(self, partitions: int, *, strict: bool) -> bool:
        """Count partitions that are to be created or deleted. Return False, and count none, if `strict` and
        the quota is used up.
        """
        bucket = self._quota.mutation
        if bucket is None:
            return True
        now_ms = self._now_ms()
        debt_ms = bucket.throttle_ms(now_ms)
        if not (strict and debt_ms):
            bucket.take(partitions, now_ms)
            if strict:
                return True
            debt_ms = bucket.throttle_ms(now_ms)
        self._mutation_until_ms = now_ms + debt_ms
        return not strict

    def return_mutation(self, partitions: int) -> None:
        """Uncount partitions that were not created or deleted after all."""
        if self._quota.mutation is not None:
            self._quota.mutation.take(-partitions, self._now_ms())

    def settle(self) -> int:
        """Return for how many ms the client is throttled, after all of the request has been counted."""
        if self._mutation_until_ms:
            self._throttle(self._mutation_until_ms - self._now_ms())
        return 0 if self.is_exempt else self.throttle_ms

    def _throttle(self, ms: int) -> None:
        self.throttle_ms = max(self.throttle_ms, ms)
