"""Text in, text out: what a bundle does, with nothing else needed."""

from qkv.decoding.sampling import Sampling
from qkv.pipeline.alignment import Aligner, WordLooks
from qkv.pipeline.answers import Answer, Confidence, Word
from qkv.pipeline.defaults import Languages, TranslatorDefaults
from qkv.pipeline.experiments import Experiment
from qkv.pipeline.family import kind_in, trace, trace_of, with_weights
from qkv.pipeline.generator import Generation, Generator
from qkv.pipeline.loading import load, load_for, load_weights
from qkv.pipeline.options import PROTECTED, Decoding
from qkv.pipeline.traces import Trace
from qkv.pipeline.tracing import trace_translator
from qkv.pipeline.translator import AttentionMap, Translator
from qkv.text.glossary import Glossary

__all__ = [
    "PROTECTED",
    "Aligner",
    "Answer",
    "AttentionMap",
    "Confidence",
    "Decoding",
    "Experiment",
    "Generation",
    "Generator",
    "Glossary",
    "Languages",
    "Sampling",
    "Trace",
    "Translator",
    "TranslatorDefaults",
    "Word",
    "WordLooks",
    "kind_in",
    "load",
    "load_for",
    "load_weights",
    "trace",
    "trace_of",
    "trace_translator",
    "with_weights",
]
