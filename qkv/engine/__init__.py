"""The fast path on a CPU: the same answers from weights packed once, by loops compiled for this processor."""

from qkv.engine.engine import Engine, EngineStep, PlainRequest, PlainSearch
from qkv.engine.gpt import GPTEngine
from qkv.engine.library import NoEngineError

__all__ = ["Engine", "EngineStep", "GPTEngine", "NoEngineError", "PlainRequest", "PlainSearch"]
