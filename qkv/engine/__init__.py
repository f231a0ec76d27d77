"""Fast inference on a CPU: packed weights and compiled loops, with the same outputs as the torch models."""

from qkv.engine.engine import Engine, EngineStep, PlainRequest, PlainSearch
from qkv.engine.gpt import GPTEngine
from qkv.engine.library import NoEngineError

__all__ = ["Engine", "EngineStep", "GPTEngine", "NoEngineError", "PlainRequest", "PlainSearch"]
