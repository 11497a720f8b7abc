"""How fast a server is asked: by its limits and ours, fewer at a time when it complains, more when it does not."""

from __future__ import annotations

import asyncio
import time

SLOWER, FASTER = 0.5, 1.0  # ours: of the requests at a time; less by a factor, more by so many each time all succeed
PAUSE = 1.0  # ours: seconds after a complaint in which others, of requests sent before, count as the same


class Pace:
    """Lets requests begin.

    Attributes:
        limit: How many may be under way now.
    """

    def __init__(self, parallel: int, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """Begin with as many requests at a time as are wanted.

        Args:
            parallel: The most at a time.
            requests_per_minute: The most in a minute; None is no limit.
            tokens_per_minute: The most tokens in a minute; None likewise.
        """
        self.limit = float(parallel)
        self._parallel = parallel
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._running = 0
        self._next_begin = self._held_until = self._last_complaint = 0.0
        self._changed = asyncio.Condition()

    async def begin(self, tokens: int) -> None:
        """Wait until a request of so many tokens may begin."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._running < max(1, int(self.limit)))
            self._running += 1
            begin = max(time.monotonic(), self._next_begin)
            self._next_begin = begin + max(self._per_request, self._per_token * tokens)
        while (left := max(begin, self._held_until) - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def end(self, is_accepted: bool) -> None:
        """A request has ended: with a reply, or with the complaint that there were too many."""
        async with self._changed:
            self._running -= 1
            if is_accepted:
                self.limit = min(self._parallel, self.limit + FASTER / self.limit)
            elif time.monotonic() - self._last_complaint > PAUSE:
                self.limit, self._last_complaint = max(1.0, self.limit * SLOWER), time.monotonic()
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Let no request begin for so long."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)
