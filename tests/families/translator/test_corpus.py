"""The data of a translator: with BPE dropout words are split differently each time, and decode to the same text."""

from digits import DIGITS

from qkv.data.parallel import ParallelText
from qkv.families.translator.corpus import PairData
from qkv.text.tokenizer import Tokenizer


def test_with_bpe_dropout_every_row_still_decodes_to_its_own_pair() -> None:
    lines = [" ".join(DIGITS[:count]) for count in range(1, 8)]
    pairs = ParallelText(source=lines, target=[line.upper() for line in lines])
    tokenizer = Tokenizer.learn([*pairs.source, *pairs.target] * 3, 330)
    context = 1 + max(len(tokenizer.encode(line)) for line in [*pairs.source, *pairs.target])
    data = PairData(pairs, tokenizer, 200, context, shuffled=True, bpe_dropout=0.4)
    cuts = set()
    for seed in (1, 2, 3):
        rows = sorted(row for batch in data.epoch(seed) for row in batch)
        assert rows == list(range(len(lines)))
        assert [tokenizer.decode(data.ids(0, row).tolist()) for row in rows] == pairs.source
        assert [tokenizer.decode(data.ids(1, row).tolist()) for row in rows] == pairs.target
        assert data.lengths_now.max() < context
        cuts.add(str([data.ids(0, row).tolist() for row in rows]))
    assert len(cuts) == 3
    data.epoch(1)
    assert str([data.ids(0, row).tolist() for row in rows]) in cuts
