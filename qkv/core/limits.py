"""What the config of every model must keep to, so that a damaged or hostile file costs an error and not all memory."""

LARGEST_TABLE = 2**25  # numbers in a table of positions, which is computed and thus not bounded by the file


def check_tokens(vocab: int, **tokens: int) -> None:
    """That special tokens are in the vocabulary."""
    for name, token in tokens.items():
        if not 0 <= token < vocab:
            raise ValueError(f"{name} {token} is not a token: the vocabulary has {vocab}")


def check_context(context: int, width: int, *, least: int = 1) -> None:
    if context < least:
        raise ValueError(f"the context must have at least {least} positions")
    if context * width > LARGEST_TABLE:
        raise ValueError(f"a context of {context} positions is too large at width {width}")
