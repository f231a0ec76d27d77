"""From the settings of blocks to the config of a stack."""

from qkv.core.stack_config import StackConfig
from qkv.training.settings import BlockSettings


def stack_of(model: BlockSettings) -> StackConfig:
    return StackConfig(
        depth=model.depth,
        width=model.width,
        heads=model.heads,
        ffn_width=model.ffn_width,
        norm="pre",
        activation=model.activation,
        dropout=model.dropout,
        attention_dropout=model.attention_dropout,
    )
