"""A picture of a station shows that station's numbers."""

import numpy as np
import pytest
from explorable import SENTENCE, random_recurrent, random_translator

from qkv.errors import QkvError
from qkv.explorer.picture import decimal, panels_of, picture, plain
from qkv.explorer.places import TABLES, TITLES, Place
from qkv.families.tracing import trace
from qkv.tracing.trace import Trace

pytest.importorskip("matplotlib")


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


@pytest.mark.parametrize("station", range(1, len(TITLES) + 1))
def test_it_names_the_sentence_and_the_output(found: Trace, station: int) -> None:
    title = " ".join(picture(found, Place(station=station)).get_suptitle().split())
    assert f"Input: {SENTENCE}" in title
    assert f"Output: {' '.join(plain(found.output).split())}" in title


def test_a_cell_shows_its_number_unless_it_is_masked_or_the_matrix_is_wide(found: Trace) -> None:
    place = Place(station=7, side="decoder", layer=2)
    [panel] = panels_of(found, place)
    printed = [text.get_text() for text in picture(found, place).axes[0].texts]
    assert printed == [decimal(value) for value in panel.array.flat if np.isfinite(value)]
    wide = picture(found, Place(station=12))  # 40 columns
    assert not wide.axes[0].texts


@pytest.mark.parametrize("station", [18, 19])
def test_logits_and_probabilities_are_printed(found: Trace, station: int) -> None:
    printed = {text.get_text().strip() for text in picture(found, Place(station=station)).axes[0].texts}
    for choice in found.choices:
        best = choice.candidates[0]
        value = best.logit if station == 18 else np.exp(best.log_probability)
        assert f"{plain(best.text)} {decimal(value)}" in printed


def test_what_is_masked_is_hatched(found: Trace) -> None:
    figure = picture(found, Place(station=7, side="decoder", layer=2))
    size = len(found.side("decoder").tokens)
    assert sum(patch.get_hatch() is not None for patch in figure.axes[0].patches) == size * (size - 1) // 2


def test_of_a_recurrent_model_there_are_pictures_of_the_stations_that_it_has() -> None:
    recurrent = trace(random_recurrent(), SENTENCE)
    for station in range(1, len(TITLES) + 1):
        if station in (3, 11, 12, 15, 17):
            with pytest.raises(QkvError, match="`station` must be one of 1, 2, 4,"):
                picture(recurrent, Place(station=station))
        else:
            assert TITLES[station - 1] in picture(recurrent, Place(station=station, head=2)).get_suptitle()
    [panel] = panels_of(recurrent, Place(station=8, head=2))
    np.testing.assert_array_equal(panel.array, recurrent["decoder.0.cross_attention.weights"][2])
    [panel] = panels_of(recurrent, Place(station=13, side="decoder"))
    assert list(panel.rows) == ["LSTM 1", "LSTM 2", "LSTM 3"]
    np.testing.assert_allclose(panel.array[0], 1, atol=1e-6)
