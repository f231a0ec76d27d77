"""The systems of the benchmark of decoding: ids of sources in, ids of the best answers out."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIXED = 20  # ids of every answer where weights are random
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
THEIRS_ALONE = (
    "final_logits_bias",
    "lm_head.weight",
    *(
        f"model.{side}.embed_{kind}.weight"
        for side in ("encoder", "decoder")
        for kind in ("tokens", "positions")
    ),
)  # zeros, copies of the words' vectors, and fixed positions
Sources = list[list[int]]


@dataclass(frozen=True)
class Contest:
    """A model, what it reads, and how long its answers are."""

    name: str
    model: Any  # qkv.families.translator.model.Translator
    sources: Sources  # without their end marks
    fixed: int | None  # every answer has so many ids; None: as many as the model says

    def limits(self, sources: Sequence[Sequence[int]]) -> list[int]:
        context = self.model.config.max_length
        return [self.fixed or min(2 * len(source) + 20, context) for source in sources]


@dataclass
class System:
    """`translate(sources, beam)` gives the ids of the best answers."""

    name: str
    translate: Callable[[Sources, int], list[list[int]]]
    for_files: bool = True
    for_sentences: bool = True
    load_seconds: float = 0.0
    megabytes: float = 0.0
    seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)  # task and beam -> turns

    def time_of(self, task: str, beam: int) -> float:
        return statistics.median(self.seconds[task, beam])

    def turn(self, task: str, sources: Sources, beam: int) -> None:
        begun = time.perf_counter()
        if task == "sentence":
            for source in sources:
                self.translate([source], beam)
        else:
            self.translate(sources, beam)
        self.seconds.setdefault((task, beam), []).append((time.perf_counter() - begun) / len(sources))


def opened(
    name: str, open_it: Callable[[], Callable[[Sources, int], list[list[int]]]], **options: bool
) -> System:
    before, begun = resident(), time.perf_counter()
    translate = open_it()
    return System(
        name,
        translate,
        load_seconds=time.perf_counter() - begun,
        megabytes=resident() - before,
        **options,
    )


def resident() -> float:
    """Megabytes of memory that this process holds."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


def ours(contest: Contest, *, int8: bool) -> Callable[[], Callable[[Sources, int], list[list[int]]]]:
    def open_it() -> Callable[[Sources, int], list[list[int]]]:
        from qkv.decoding.beam_options import paper_penalty
        from qkv.engine import Engine, PlainSearch
        from qkv.runtime.network import Network

        network = Network.of(contest.model)
        engine = Engine(network.config, network.weights, int8=int8, threads=CORES)
        end = contest.model.config.end

        def translate(sources: Sources, beam: int) -> list[list[int]]:
            plain = PlainSearch(
                width=beam, penalty=paper_penalty(0.0), least=contest.fixed or 1, scored=False
            )
            lengths = [len(source) + 1 for source in sources]
            batches = engine.batches(lengths, beam)[::-1]
            given = [[[*sources[row], end] for row in rows] for rows in batches]
            limits = [contest.limits([sources[row] for row in rows]) for rows in batches]
            found: list[list[int]] = [[] for _ in sources]
            results = engine.search_batches(list(zip(given, limits, strict=True)), plain)
            for rows, answers in zip(batches, results, strict=True):
                for row, answer in zip(rows, answers, strict=True):
                    found[row] = answer[0].ids
            return found

        return translate

    return open_it


def ctranslate2(
    contest: Contest, folder: Path, compute: str, inter: int, intra: int, batch: int, use_vmap: bool = False
) -> Callable[[], Callable[[Sources, int], list[list[int]]]]:
    def open_it() -> Callable[[Sources, int], list[list[int]]]:
        import ctranslate2 as library

        translator = library.Translator(
            str(folder), device="cpu", compute_type=compute, inter_threads=inter, intra_threads=intra
        )

        def translate(sources: Sources, beam: int) -> list[list[int]]:
            results = translator.translate_batch(
                [[f"p{token}" for token in source] for source in sources],
                beam_size=beam,
                length_penalty=0.0,
                max_batch_size=min(batch, -(-len(sources) // inter)),  # every worker has something to do
                max_decoding_length=max(contest.limits(sources)),
                min_decoding_length=contest.fixed or 1,
                use_vmap=use_vmap,
            )
            return [[int(piece[1:]) for piece in result.hypotheses[0]] for result in results]

        return translate

    return open_it


def marian(contest: Contest, batch: int) -> Callable[[], Callable[[Sources, int], list[list[int]]]]:
    """Hugging Face's generate on a Marian with the same weights; answers have the contest's fixed length."""

    def open_it() -> Callable[[Sources, int], list[list[int]]]:
        import torch
        from transformers import MarianConfig, MarianMTModel

        from qkv.families.translator.hub import their_name

        config = contest.model.config
        stack = config.decoder
        model = MarianMTModel(
            MarianConfig(
                vocab_size=config.vocab_size,
                d_model=stack.width,
                encoder_layers=config.encoder.depth,
                decoder_layers=stack.depth,
                encoder_attention_heads=config.encoder.heads,
                decoder_attention_heads=stack.heads,
                encoder_ffn_dim=config.encoder.ffn_width,
                decoder_ffn_dim=stack.ffn_width,
                activation_function="relu",
                pad_token_id=config.pad,
                eos_token_id=config.end,
                decoder_start_token_id=config.start,
                forced_eos_token_id=None,
                max_position_embeddings=config.max_length,
                scale_embedding=True,
            )
        ).eval()
        weights = {their_name(name): weight for name, weight in contest.model.state_dict().items()}
        left = model.load_state_dict(weights, strict=False)
        if left.unexpected_keys or not all(name in THEIRS_ALONE for name in left.missing_keys):
            raise ValueError(f"not a Marian's weights: {left}")

        @torch.inference_mode()
        def translate(sources: Sources, beam: int) -> list[list[int]]:
            from qkv.data.batching import pad_rows

            torch.set_num_threads(CORES)
            found: list[list[int]] = [[] for _ in sources]
            ordered = sorted(range(len(sources)), key=lambda row: len(sources[row]))
            for start in range(0, len(sources), batch):
                rows = ordered[start : start + batch]
                ids = pad_rows([[*sources[row], config.end] for row in rows], config.pad)
                said = model.generate(
                    ids,
                    attention_mask=ids != config.pad,
                    num_beams=beam,
                    min_new_tokens=contest.fixed,
                    max_new_tokens=contest.fixed,
                    do_sample=False,
                )
                for row, answer in zip(rows, said[:, 1:].tolist(), strict=True):
                    found[row] = answer
            return found

        return translate

    return open_it


def settings() -> list[tuple[int, int]]:
    """Workers and threads of each that CTranslate2 can be started with here."""
    return list(dict.fromkeys([(1, 1), (1, CORES), (CORES, 1)]))
