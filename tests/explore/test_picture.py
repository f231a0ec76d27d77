"""A picture of a station shows that station's numbers."""

import numpy as np
import pytest
from explorable import SENTENCE, random_recurrent, random_translator

from qkv.errors import UserError
from qkv.explore.picture import TITLES, Place, panels_of, picture
from qkv.families.tracing import trace
from qkv.tracing.trace import Trace

pytest.importorskip("matplotlib")
TABLES = (1, 18, 19, 20)


@pytest.fixture(scope="module", params=["pre", "post"])
def found(request: pytest.FixtureRequest) -> Trace:
    return trace(random_translator(norm=request.param), SENTENCE)


@pytest.mark.parametrize("station", range(1, len(TITLES) + 1))
def test_every_station_has_one(found: Trace, station: int) -> None:
    figure = picture(found, Place(station=station, layer=1, head=2))
    assert TITLES[station - 1] in figure.get_suptitle()
    assert figure.axes or figure.texts
    if station not in TABLES:
        shown = [np.ma.filled(axes.images[0].get_array(), -np.inf) for axes in figure.axes if axes.images]
        panels = panels_of(found, Place(station=station, layer=1, head=2))
        assert len(shown) == len(panels)
        for one, panel in zip(shown, panels, strict=True):
            np.testing.assert_array_equal(one, panel.array)


def test_what_is_masked_is_hatched(found: Trace) -> None:
    figure = picture(found, Place(station=7, side="decoder", layer=2))
    size = len(found.side("decoder").pieces)
    assert sum(patch.get_hatch() is not None for patch in figure.axes[0].patches) == size * (size - 1) // 2


def test_of_a_recurrent_model_there_are_pictures_of_the_stations_that_it_has() -> None:
    recurrent = trace(random_recurrent(), SENTENCE)
    for station in range(1, len(TITLES) + 1):
        if station in (3, 11, 12, 15, 17):
            with pytest.raises(UserError, match=f"nothing for station {station} there"):
                picture(recurrent, Place(station=station))
        else:
            assert TITLES[station - 1] in picture(recurrent, Place(station=station, head=2)).get_suptitle()
    [panel] = panels_of(recurrent, Place(station=8, head=2))
    np.testing.assert_array_equal(panel.array, recurrent["decoder.0.cross_attention.weights"][2])
    [panel] = panels_of(recurrent, Place(station=13, side="decoder"))
    assert list(panel.rows) == ["LSTM 1", "LSTM 2", "LSTM 3"]
    np.testing.assert_allclose(panel.array[0], 1, atol=1e-6)
