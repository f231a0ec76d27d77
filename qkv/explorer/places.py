"""Where an image is taken: a station, a stack, a layer and a head; and which of them a trace has."""

from dataclasses import dataclass

from qkv.flags import OptionMessageError
from qkv.tracing.trace import Side, Trace

TITLES = [
    "Tokens", "Embedding", "Positional encoding", "Queries, keys and values", "Scores QKᵀ", "Scores divided by √d", "Mask",
    "Softmax: attention weights", "Z: weighted sum of V", "Concatenated heads and W_O", "Add & norm", "Feed-forward network",
    "Layer by layer", "Memory for the decoder", "Masked self-attention", "Encoder-decoder attention",
    "Decoder feed-forward network", "Logits", "Softmax and log-probabilities", "Greedy or beam search",
]  # fmt: skip
SELF, CROSS = "attention", "cross_attention"
TABLES = (1, 18, 19, 20)  # stations without a matrix
WEIGHTS = (16, 8, 15)  # stations that show attention weights; a model's first is the default
RECORDED = {4: "query", 5: "scores", 6: "scaled", 7: "masked", 8: "weights", 9: "heads", 10: "heads"}


@dataclass(frozen=True, kw_only=True)
class Place:
    station: int | None = None
    """None for attention weights: of the decoder to the encoder, if the model has both."""
    side: str = ""
    layer: int = 0
    head: int = 0


@dataclass(frozen=True, kw_only=True)
class Site:
    """A stack, and the attention in its blocks that a station shows."""

    side: Side
    attention: str

    @property
    def name(self) -> str:
        """As the option `side` has it."""
        return "cross" if self.attention == CROSS else self.side.name

    @property
    def title(self) -> str:
        return f"{self.side.name} {'cross-attention' if self.attention == CROSS else 'self-attention'}"


def find_site(trace: Trace, place: Place) -> tuple[int, Site]:
    """The station of a place, and its site. An error names the stations, sides and layers that there are."""
    station = default_station(trace) if place.station is None else place.station
    known = stations_of(trace)
    if station not in known:
        raise OptionMessageError(
            "{station} must be one of {known} for this model, not {given}.",
            known=", ".join(map(str, known)),
            given=station,
        )
    sites = sites_of(trace, station)
    names = [each.name for each in sites]
    if place.side and place.side not in names:
        raise OptionMessageError(
            "{side} must be {known} for this station, not '{given}'.",
            known=" or ".join(names),
            given=place.side[:40],
        )
    site = sites[names.index(place.side) if place.side else 0]
    check_range("layer", place.layer, site.side.stack["depth"])
    return station, site


def check_range(option: str, number: int, count: int) -> None:
    """`number` counts from 0, the option from 1."""
    if not 0 <= number < count:
        raise OptionMessageError(f"{{{option}}} must be from 1 to {{count}} for this model.", count=count)


def default_station(trace: Trace) -> int:
    return next((each for each in WEIGHTS if sites_of(trace, each)), TABLES[0])


def stations_of(trace: Trace) -> list[int]:
    """The stations that this model has."""
    return [station for station in range(1, len(TITLES) + 1) if sites_of(trace, station)]


def sites_of(trace: Trace, station: int) -> list[Site]:
    """Where this station is, first the default; nowhere if the model has no such station."""
    own = [Site(side=side, attention=SELF) for side in trace.sides]
    last = trace.sides[-1]
    cross = [Site(side=last, attention=CROSS)] if f"{last.name}.0.{CROSS}.weights" in trace else []
    if station == 1:
        return own
    if station in TABLES:
        return own[-1:] if trace.choices else []
    if station in (14, 16):
        return cross
    if station == 13:
        return own
    if station == 15:
        return [each for each in having(trace, own, "weights") if each.side.causal]
    if station == 17:
        return with_arrays(trace, own[1:], "0.feed_forward.output")
    if station == 12:
        return with_arrays(trace, own, "0.feed_forward.output")
    if station in (2, 3):
        return with_arrays(trace, own, "tokens" if station == 2 else "positions")
    if station == 11:
        return [
            each for each in own + cross if having(trace, [each], "sum") or having(trace, [each], "normed")
        ]
    return having(trace, own + cross, RECORDED[station])


def having(trace: Trace, sites: list[Site], part: str) -> list[Site]:
    """The sites whose attention has recorded this."""
    return [each for each in sites if f"{each.side.name}.0.{each.attention}.{part}" in trace]


def with_arrays(trace: Trace, sites: list[Site], name: str) -> list[Site]:
    return [each for each in sites if f"{each.side.name}.{name}" in trace]
