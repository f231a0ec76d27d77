"""Flags of version 0.1 and their new names."""

TRAINING = {
    "--training.rate": "--learning-rate",
    "--training.warmup": "--warmup-steps",
    "--training.clip": "--max-grad-norm",
    "--training.accumulate": "--gradient-accumulation-steps",
    "--training.optimiser": "--optimizer",
    "--training.betas": "--adam-betas",
    "--training.epsilon": "--adam-epsilon",
    "--model": "--architecture",
    "--model.kind": "--architecture",
    "--model.hidden": "--ffn-width",
    "--model.smoothing": "--label-smoothing",
    "--smoothing": "--label-smoothing",
    "--model.context": "--max-length",
    "--model.quantiser": "--quantizer",
    "--vocabulary": "--vocab-size",
    "--data.subword-dropout": "--bpe-dropout",
    "--data.valid": "--valid-size",
    "--data.most-valid": "--max-valid-characters",
    "--valid": "--valid-size",
    "--data.longest": "--max-characters",
    "--data.ratio": "--max-length-ratio",
    "--decoding.beam": "--beam-size",
    "--language": "--language-token",
    "--pieces": "--token-type",
    "--masking.share": "--mask-share",
    "--masking.masked": "--mask-token-share",
    "--masking.other": "--random-token-share",
    "--masking.whole-words": "--whole-word-masking",
    "--auxiliary": "--auxiliary-weight",
    "--augment.no-colours": "--no-augment-colors",
    "--augment-colours": "--augment-colors",
    "--no-augment-colours": "--no-augment-colors",
    "--measured.captions": "--measured-captions",
    "--measured.candidates": "--measured-candidates",
}
PREFIXES = ("training", "model", "data", "decoding", "scoring", "augment", "drawing")
"""Of flags that have only lost their prefix."""

COMMANDS = {
    "qkv translate": {
        "--nbest": "--num-hypotheses",
        "--no-repeat": "--no-repeat-ngram-size",
        "--also": "--ensemble",
        "--compute": "--compute-type",
        "--language": "--target-language",
    },
    "qkv generate": {"--tokens": "--max-new-tokens", "--compute": "--compute-type"},
    "qkv classify": {"--best": "--top-k"},
    "qkv fill": {"--best": "--top-k"},
    "qkv draw": {"--best": "--top-k"},
    "qkv embed": {"--compute": "--compute-type"},
    "qkv import": {"--language": "--target-language"},
    "qkv export": {"--numbers": "--compute-type"},
}


def new_name(prog: str, flag: str) -> str | None:
    """The new name of an old flag of this command, or None. A training command may lack the new flag."""
    if not prog.startswith("qkv train"):
        return COMMANDS.get(prog, {}).get(flag)
    if flag in TRAINING:
        return TRAINING[flag]
    prefix, dot, rest = flag.removeprefix("--").partition(".")
    return f"--{rest}" if dot and prefix in PREFIXES else None
