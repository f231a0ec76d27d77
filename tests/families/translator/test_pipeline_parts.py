"""Long lists of texts are translated in parts by several threads, with the same result."""

import pytest
from untrained_translators import WITHOUT

from qkv.families.translator.pipeline import SEVERAL
from qkv.runtime.running import Running

WORDS = ["cat", "friends", "tomatoes", "Tom", "Mary", "Boston", "Katze", "danced"]
TEXTS = [f"{WORDS[place % 8]} like {WORDS[place // 8 % 8]} {place % 3}" for place in range(2 * SEVERAL + 5)]


def test_parts_give_what_one_thread_gives_and_report_every_segment() -> None:
    done: list[int] = []
    two, one = (WITHOUT._running(Running(threads=threads)) for threads in (2, 1))
    found = two.translate(TEXTS, beam_size=1, protect=("numbers",), done=done.append)
    assert found == one.translate(TEXTS, beam_size=1, protect=("numbers",))
    assert sum(done) == len(TEXTS)


def test_an_error_in_a_part_ends_the_translation() -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        WITHOUT._running(Running(threads=2)).translate(TEXTS, beam_size=1, done=stop)
