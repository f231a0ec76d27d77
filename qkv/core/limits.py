"""Limits of every model's config, so that a damaged or hostile file gives an error instead of exhausting memory."""

LARGEST_TABLE = 2**25  # numbers in a table of positions, which is computed and so not bounded by the file


def check_tokens(vocab: int, **tokens: int) -> None:
    """Check that special tokens are in the vocabulary."""
    for name, token in tokens.items():
        if not 0 <= token < vocab:
            raise ValueError(f"{name} {token} is not a token: the vocabulary has {vocab}")


def check_context(context: int, width: int, *, least: int = 1) -> None:
    if context < least:
        raise ValueError(f"the context must have at least {least} positions")
    if context * width > LARGEST_TABLE:
        raise ValueError(f"a context of {context} positions is too large at width {width}")
