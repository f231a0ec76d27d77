"""Images as patches and back, each patch flattened with its channels in turn."""

from qkv.engine.rounding import Floats


def patched(pictures: Floats, size: int) -> Floats:
    """(B, C, height, width) -> (B, down, across, C · size²)"""
    batch, channels, height, width = pictures.shape
    rows = pictures.reshape(batch, channels, height // size, size, width // size, size)
    return rows.transpose(0, 2, 4, 1, 3, 5).reshape(batch, height // size, width // size, -1)


def unpatched(x: Floats, size: int) -> Floats:
    """(B, down, across, C · size²) -> (B, C, height, width)"""
    batch, down, across, _ = x.shape
    rows = x.reshape(batch, down, across, -1, size, size).transpose(0, 3, 1, 4, 2, 5)
    return rows.reshape(batch, -1, down * size, across * size)
