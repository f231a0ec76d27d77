"""Counts for Prometheus, under the names and buckets of OpenTelemetry. Labels never hold addresses, keys or texts."""

from bisect import bisect_left
from collections.abc import Iterator

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DURATION = "http_server_request_duration_seconds"
Labels = tuple[str, str, int]  # method, route, status


class Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(BUCKETS, value)] += 1
        self.total += value


class Metrics:
    """Only the event loop's thread writes and reads this."""

    def __init__(self) -> None:
        self.requests: dict[Labels, Histogram] = {}
        self.active = 0
        self.texts: dict[tuple[str, str], int] = {}
        self.characters: dict[tuple[str, str], int] = {}
        self.rejected = 0

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests.setdefault((method, route, status), Histogram()).add(seconds)

    def translated(self, source: str, target: str, texts: int, characters: int) -> None:
        pair = source, target
        self.texts[pair] = self.texts.get(pair, 0) + texts
        self.characters[pair] = self.characters.get(pair, 0) + characters

    def write(self, gauges: dict[str, tuple[str, str, float]]) -> str:
        """The text for Prometheus. `gauges`: name, then type, help and value."""
        lines = [*self.durations()]
        lines += sample(
            "http_server_active_requests", "gauge", "Requests that are being answered.", self.active
        )
        lines += sample(
            "qkv_rejected_requests_total", "counter", "Requests rejected with status 429.", self.rejected
        )
        for name, what, values in (
            ("qkv_texts_total", "Translated texts.", self.texts),
            ("qkv_characters_total", "Characters of translated texts.", self.characters),
        ):
            lines += [f"# HELP {name} {what}", f"# TYPE {name} counter"]
            lines += [
                f'{name}{{source="{a}",target="{b}"}} {count}' for (a, b), count in sorted(values.items())
            ]
        for name, (kind, what, value) in gauges.items():
            lines += sample(name, kind, what, value)
        return "\n".join(lines) + "\n"

    def durations(self) -> Iterator[str]:
        yield f"# HELP {DURATION} Duration of HTTP requests."
        yield f"# TYPE {DURATION} histogram"
        for (method, route, status), histogram in sorted(self.requests.items()):
            labels = (
                f'http_request_method="{method}",http_route="{route}",http_response_status_code="{status}"'
            )
            running = 0
            for bound, count in zip([*map(str, BUCKETS), "+Inf"], histogram.counts, strict=True):
                running += count
                yield f'{DURATION}_bucket{{{labels},le="{bound}"}} {running}'
            yield f"{DURATION}_sum{{{labels}}} {histogram.total:.6f}"
            yield f"{DURATION}_count{{{labels}}} {running}"


def sample(name: str, kind: str, what: str, value: float) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}", f"{name} {value:g}"]
