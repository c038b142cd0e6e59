"""Time between attempts of a request."""

from __future__ import annotations

from dataclasses import dataclass

# Statuses after which the same request may succeed. 409: the first request with the idempotency key still runs.
RETRIED = frozenset({408, 409, 429, 502, 503, 504})
# Statuses of requests of which nothing was answered: the service refused them. A proxy's 502 or 504 says nothing of it.
NOT_STARTED = frozenset({429, 503})


@dataclass(frozen=True)
class Retries:
    """Rules of retries.

    A refused request is repeated after the server's `Retry-After`, which the server spreads over callers; a
    connection that failed is repeated after a random part of a time that doubles.
    """

    attempts: int = 5
    """Number of attempts of a request, the first one included."""
    longest_wait: float = 30.0
    """Longest time in seconds to wait. A limit that frees nothing within it fails at once."""
    first_wait: float = 0.5
    """Upper bound of the first wait without `Retry-After`, in seconds."""

    def wait(self, attempt: int, retry_after: float | None, random: float) -> float | None:
        """Returns the seconds to wait after a failed attempt; `None` if it was the last.

        `attempt` counts from 1; `random` is from 0 to 1.
        """
        if attempt >= self.attempts:
            return None
        if retry_after is None:
            return min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * random
        # Never earlier than the server says: the request would be refused again.
        wait = retry_after + random * min(1.0, self.first_wait)
        return wait if retry_after <= self.longest_wait else None
