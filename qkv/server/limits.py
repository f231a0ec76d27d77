"""How much a client may ask for: texts and characters per minute, by address or API key."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MINUTE = 60.0
MOST_CLIENTS = 100_000  # remembered at the same time; the least recent ones are forgotten


class RateLimiter:
    """Counts what each client used in the last minute, as a bucket that refills steadily."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # used, and when

    def wait(self, client: Hashable, cost: float, per_minute: float) -> float:
        """Count a request. The result is 0, or the seconds after which it would be accepted; then it does not count.

        A request that alone is above the limit is accepted if the client has been idle.
        """
        now = self.clock()
        used, when = self.buckets.pop(client, (0.0, now))
        used = max(0.0, used - (now - when) * per_minute / MINUTE)
        accepted = used == 0 or used + cost <= per_minute
        self.buckets[client] = (used + cost if accepted else used), now
        if len(self.buckets) > MOST_CLIENTS:
            self.buckets.popitem(last=False)
        return 0.0 if accepted else max(1.0, (used + cost - per_minute) * MINUTE / per_minute)
