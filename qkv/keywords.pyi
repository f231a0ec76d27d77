"""Keyword arguments of the public functions, for type checkers. `python tools/keywords.py` writes this file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from qkv.families.translator.product import Translator
from qkv.training.callbacks import Callback

class LoadKeywords(TypedDict, total=False):
    compute_type: Literal["auto", "int8", "float32", "bf16"]
    device: Literal["auto", "cpu", "cuda", "mps"]
    engine: Literal["auto", "torch"]
    threads: int | None

class TranslateKeywords(TypedDict, total=False):
    ensemble: Sequence[Translator | str | Path]
    done: Callable[[int], None] | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    beam_size: int | None
    length_penalty: float | None
    patience: float | None
    coverage_penalty: float
    sample: bool
    seed: int | None
    repetition_penalty: float
    no_repeat_ngram_size: int
    prefix: str
    contain: Iterable[str]
    avoid: Iterable[str]
    glossary: Any
    protect: (
        Literal["none"]
        | Literal["tags", "urls", "emails", "placeholders", "numbers"]
        | Literal[
            "c-format",
            "python-format",
            "python-brace-format",
            "qt-format",
            "ruby-format",
            "i18next-format",
            "icu-format",
        ]
        | Iterable[
            Literal["tags", "urls", "emails", "placeholders", "numbers"]
            | Literal[
                "c-format",
                "python-format",
                "python-brace-format",
                "qt-format",
                "ruby-format",
                "i18next-format",
                "icu-format",
            ]
        ]
    )
    protect_pattern: Iterable[str]
    target_language: str | None
    draft: str | None
    shortlist: bool
    batch_tokens: int
    alignments: bool
    min_confidence: float | None
    withhold: bool
    beam: int | None

class TranslateFileKeywords(TypedDict, total=False):
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    beam_size: int | None
    length_penalty: float | None
    num_hypotheses: int
    patience: float | None
    coverage_penalty: float
    sample: bool
    seed: int | None
    repetition_penalty: float
    no_repeat_ngram_size: int
    prefix: str
    contain: Iterable[str]
    avoid: Iterable[str]
    glossary: Any
    protect: (
        Literal["none"]
        | Literal["tags", "urls", "emails", "placeholders", "numbers"]
        | Literal[
            "c-format",
            "python-format",
            "python-brace-format",
            "qt-format",
            "ruby-format",
            "i18next-format",
            "icu-format",
        ]
        | Iterable[
            Literal["tags", "urls", "emails", "placeholders", "numbers"]
            | Literal[
                "c-format",
                "python-format",
                "python-brace-format",
                "qt-format",
                "ruby-format",
                "i18next-format",
                "icu-format",
            ]
        ]
    )
    protect_pattern: Iterable[str]
    target_language: str | None
    draft: str | None
    shortlist: bool
    batch_tokens: int
    alignments: bool
    min_confidence: float | None
    withhold: bool
    scores: bool
    json: bool
    column: str | None
    output_column: str
    line_width: int
    format: (
        Literal[
            "txt",
            "po",
            "pot",
            "json",
            "arb",
            "xliff",
            "xlf",
            "xml",
            "resx",
            "ts",
            "html",
            "htm",
            "srt",
            "vtt",
            "properties",
            "strings",
            "yaml",
            "yml",
            "md",
            "markdown",
            "mdx",
            "docx",
            "pptx",
            "xlsx",
            "odt",
            "epub",
            "csv",
            "tsv",
            "jsonl",
        ]
        | None
    )
    all: bool
    also_fuzzy: bool
    accelerator: Literal["&", "_", "~"] | None
    max_length_ratio: float | None
    memory: str | None
    beam: int | None

class StreamKeywords(TypedDict, total=False):
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    beam_size: int | None
    length_penalty: float | None
    num_hypotheses: int
    patience: float | None
    coverage_penalty: float
    sample: bool
    seed: int | None
    repetition_penalty: float
    no_repeat_ngram_size: int
    prefix: str
    contain: Iterable[str]
    avoid: Iterable[str]
    glossary: Any
    protect: (
        Literal["none"]
        | Literal["tags", "urls", "emails", "placeholders", "numbers"]
        | Literal[
            "c-format",
            "python-format",
            "python-brace-format",
            "qt-format",
            "ruby-format",
            "i18next-format",
            "icu-format",
        ]
        | Iterable[
            Literal["tags", "urls", "emails", "placeholders", "numbers"]
            | Literal[
                "c-format",
                "python-format",
                "python-brace-format",
                "qt-format",
                "ruby-format",
                "i18next-format",
                "icu-format",
            ]
        ]
    )
    protect_pattern: Iterable[str]
    target_language: str | None
    draft: str | None
    shortlist: bool
    batch_tokens: int
    alignments: bool
    beam: int | None

class AlternativesKeywords(TypedDict, total=False):
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    beam_size: int | None
    length_penalty: float | None
    num_hypotheses: int
    patience: float | None
    coverage_penalty: float
    sample: bool
    seed: int | None
    repetition_penalty: float
    no_repeat_ngram_size: int
    contain: Iterable[str]
    avoid: Iterable[str]
    glossary: Any
    protect: (
        Literal["none"]
        | Literal["tags", "urls", "emails", "placeholders", "numbers"]
        | Literal[
            "c-format",
            "python-format",
            "python-brace-format",
            "qt-format",
            "ruby-format",
            "i18next-format",
            "icu-format",
        ]
        | Iterable[
            Literal["tags", "urls", "emails", "placeholders", "numbers"]
            | Literal[
                "c-format",
                "python-format",
                "python-brace-format",
                "qt-format",
                "ruby-format",
                "i18next-format",
                "icu-format",
            ]
        ]
    )
    protect_pattern: Iterable[str]
    target_language: str | None
    draft: str | None
    shortlist: bool
    batch_tokens: int
    alignments: bool
    beam: int | None

class GenerateKeywords(TypedDict, total=False):
    done: Callable[[int], None] | None
    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    stop: str

class GenerateStreamKeywords(TypedDict, total=False):
    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    stop: str

class ComposeKeywords(TypedDict, total=False):
    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int

class FillKeywords(TypedDict, total=False):
    done: Callable[[int], None]
    top_k: int

class EmbedKeywords(TypedDict, total=False):
    done: Callable[[int], None]
    pooling: Literal["mean", "first"] | None
    raw: bool

class DrawKeywords(TypedDict, total=False):
    output: str | Path | None
    done: Callable[[int], None]
    candidates: int
    seed: int
    temperature: float | None
    top_p: float | None
    guidance: float | None
    ranking: Literal["likelihood", "contrast"]
    scale: int
    overwrite: bool

class ClassifyTextsKeywords(TypedDict, total=False):
    done: Callable[[int], None]
    top_k: int | None

class ClassifyImagesKeywords(TypedDict, total=False):
    done: Callable[[int], None]
    top_k: int | None
    fit: bool

class EvaluateKeywords(TypedDict, total=False):
    source_column: str | None
    target_column: str | None
    source_language: str | None
    target_language: str | None
    merge: bool
    against: Any
    output: str | Path | None
    overwrite: bool
    worst: int
    beam_size: int | None
    length_penalty: float | None
    tokenize: str | None
    lowercase: bool
    part: Literal["train", "valid", "test"]
    columns: str
    images: Any
    scenes: int
    captions: Any
    sheet: str | Path | None
    candidates: int
    seed: int
    temperature: float | None
    top_p: float | None
    guidance: float | None
    ranking: Literal["likelihood", "contrast"]
    compute_type: Literal["auto", "int8", "float32", "bf16"]
    device: Literal["auto", "cpu", "cuda", "mps"]
    engine: Literal["auto", "torch"]
    threads: int | None
    out: str | Path | None
    beam: int | None

class ImportKeywords(TypedDict, total=False):
    target_language: str | None
    pairs: bool
    revision: str | None
    allow_pickle: bool

class ExportKeywords(TypedDict, total=False):
    compute_type: Literal["float32", "int8"]
    source: Any
    target: Any

class ModelsKeywords(TypedDict, total=False):
    publisher: Literal["argos", "firefox", "opus", "tatoeba"] | None
    language: str | None
    installed: bool

class GetKeywords(TypedDict, total=False):
    publisher: Literal["argos", "firefox", "opus", "tatoeba"] | None

class CleanKeywords(TypedDict, total=False):
    source: Any
    target: Any
    output: str | Path | None
    report: str | Path | None
    overwrite: bool
    held_out: Any
    source_language: str | None
    target_language: str | None
    processes: int
    min_length: int
    max_length: int
    max_words: int
    max_ratio: float
    min_letters: float
    min_script: float
    markup: Literal["keep", "same", "drop"]
    max_copied: float
    max_numbers: int
    language_confidence: float
    duplicates: bool
    near_duplicates: float
    min_alignment: float | None
    out: str | Path | None

class PushKeywords(TypedDict, total=False):
    private: bool
    license: str | None
    message: str

class CheckKeywords(TypedDict, total=False):
    source: str | Path | None
    source_language: str | None
    target_language: str | None
    select: Iterable[str]
    ignore: Iterable[str]
    glossary: Any
    max_length_ratio: float
    fail_on: Literal["error", "warning", "info", "never"]
    fix: bool
    sarif: str | Path | None
    junit: str | Path | None
    overwrite: bool

class LearnKeywords(TypedDict, total=False):
    report: str | Path | None
    memory: str | Path | None
    glossary: str | Path | None
    least: int
    origin: str | None
    source_language: str | None
    target_language: str | None
    overwrite: bool

class AdaptKeywords(TypedDict, total=False):
    memory: str | Path | None
    general: str | Path | None
    general_text: str | Path | Iterable[str | Path]
    general_test: str | Path | None
    max_loss: float
    learning_rates: float | Iterable[float]
    epochs: float
    minutes: float
    held_out: int
    batch_tokens: int
    seed: int
    processes: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    source_language: str | None
    target_language: str | None

class DistillKeywords(TypedDict, total=False):
    data: Any
    source: Any
    target: Any
    pairs: Any
    weights: float | Iterable[float]
    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_language: str | None
    target_language: str | None
    target_text: Any
    test_source: Any
    test_target: Any
    test_pairs: Any
    reverse: str | Path | None
    num_hypotheses: int
    closeness: Literal["chrf", "bleu"]
    teacher_beam_size: int | None
    teacher_length_penalty: float | None
    compute_type: Literal["auto", "int8", "float32"]
    threads: int | None
    back_translation_tag: str
    max_ratio: float
    max_copied: float
    min_confidence: float | None
    reverse_drop: float
    duplicates: bool
    repeat_pairs: int
    word_level: bool
    work: str | Path | None
    output: str | Path
    recipe: str
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    max_characters: int
    max_length_ratio: float
    valid_size: str
    bpe_dropout: float
    languages: Iterable[str] | None
    variant: str
    tokenize: str
    lowercase: bool
    vocab_size: int
    architecture: Literal["transformer", "recurrent"]
    width: int
    encoder_depth: int
    decoder_depth: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    norm: Literal["pre", "post"]
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    decoder_cell: Literal["attention", "ssru"]
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"]
    max_length: int
    label_smoothing: float
    beam_size: int
    length_penalty: float
    distillation_weight: float
    distillation_temperature: float
    out: str | Path
    valid: Any
    test: Any

class ServeKeywords(TypedDict, total=False):
    host: str
    port: int
    pivot: str | None
    beam_size: int | None
    max_texts: int
    max_characters: int
    max_alternatives: int
    max_body: int
    max_file: int
    max_queue_tokens: int
    timeout: float
    client_timeout: float
    max_connections: int
    cache_size: int
    requests_per_minute: int | None
    keys: str | Path | None
    key_address: str
    metrics: bool
    metrics_token: str
    files: bool
    glossaries: str | Path | None
    suggestions: str | Path | None
    cors: bool
    tls_certificate: str | Path | None
    tls_key: str | Path | None
    root_path: str
    trusted_proxies: str
    default_source: str
    default_target: str
    explorer: str
    log_format: Literal["text", "json", "none"]
    compute_type: Literal["auto", "int8", "float32", "bf16"]
    device: Literal["auto", "cpu", "cuda", "mps"]
    engine: Literal["auto", "torch"]
    threads: int | None

class ExploreKeywords(TypedDict, total=False):
    overwrite: bool
    station: int | None
    side: str
    layer: int
    head: int
    host: str
    port: int
    no_open: bool

class TrainTranslatorKeywords(TypedDict, total=False):
    data: Any
    source: Any
    target: Any
    weights: float | Iterable[float]
    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_language: str | None
    target_language: str | None
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    max_characters: int
    max_length_ratio: float
    valid_size: str
    bpe_dropout: float
    languages: Iterable[str] | None
    variant: str
    tokenize: str
    lowercase: bool
    vocab_size: int
    architecture: Literal["transformer", "recurrent"]
    width: int
    encoder_depth: int
    decoder_depth: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    norm: Literal["pre", "post"]
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    decoder_cell: Literal["attention", "ssru"]
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"]
    max_length: int
    label_smoothing: float
    beam_size: int
    length_penalty: float
    teacher_models: Iterable[str]
    distillation_weight: float
    distillation_temperature: float
    out: str | Path
    valid: Any

class TrainGptKeywords(TypedDict, total=False):
    valid_text: Any
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    token_type: Literal["subwords", "characters"]
    vocab_size: int
    depth: int
    width: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    max_length: int
    norm: Literal["pre", "post"]
    positions: Literal["learned", "rotary"]
    valid_size: str
    max_valid_characters: int
    music: Any
    transpose: int
    out: str | Path
    valid: Any

class TrainBertKeywords(TypedDict, total=False):
    valid_text: Any
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    vocab_size: int
    cased: bool
    next_sentence: bool
    depth: int
    width: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    max_length: int
    norm: Literal["pre", "post"]
    mask_share: float
    mask_token_share: float
    random_token_share: float
    whole_word_masking: bool
    valid_size: str
    out: str | Path
    valid: Any

class TrainVitKeywords(TypedDict, total=False):
    scenes: int
    size: int | None
    colours: Literal["grey", "colour"] | None
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    valid_size: str
    crop: int
    flip: bool
    operations: int
    magnitude: float
    augment_colors: bool
    erase: float
    depth: int
    width: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    label_smoothing: float
    patch: int
    out: str | Path

class TrainCodebookKeywords(TypedDict, total=False):
    scenes: int
    size: int | None
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    patch: int
    width: int
    depth: int
    quantizer: Literal["lattice", "gumbel"]
    levels: int | Iterable[int]
    temperature: float
    valid_size: str
    out: str | Path

class TrainDalleKeywords(TypedDict, total=False):
    scenes: int
    size: int | None
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    vocab_size: int
    depth: int
    width: int
    heads: int
    ffn_width: int
    dropout: float
    attention_dropout: float
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    label_smoothing: float
    text_share: float
    blank_captions: float
    valid_size: str
    temperature: float
    top_p: float
    guidance: float
    measured_captions: int
    measured_candidates: int
    out: str | Path

class FineTuneKeywords(TypedDict, total=False):
    valid: Any
    labels: Any
    source_column: str | None
    target_column: str | None
    text_column: str | None
    second_column: str | None
    label_column: str | None
    image_column: str | None
    callbacks: Sequence[Callback]
    progress: bool
    source: Any
    target: Any
    pairs: Any
    weights: float | Iterable[float]
    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_language: str | None
    target_language: str | None
    output: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    epochs: float
    dropout: float | None
    label_smoothing: float | None
    max_characters: int
    max_length_ratio: float
    valid_size: str
    bpe_dropout: float
    languages: Iterable[str] | None
    variant: str
    tokenize: str
    lowercase: bool
    language_token: str | None
    valid_labels: Any
    columns: str
    auxiliary_weight: float
    form: Literal["automatic", "classification", "entailment", "similarity", "choice"]
    pretrained: bool
    text: Any
    valid_text: Any
    max_valid_characters: int
    music: Any
    transpose: int
    valid_columns: str
    task: Literal["automatic", "classes", "numbers"]
    images: Any
    scenes: int
    fit: bool
    crop: int
    flip: bool
    operations: int
    magnitude: float
    augment_colors: bool
    erase: float
    out: str | Path

class FineTuneTranslatorKeywords(TypedDict, total=False):
    valid: Any
    labels: Any
    source_column: str | None
    target_column: str | None
    text_column: str | None
    second_column: str | None
    label_column: str | None
    image_column: str | None
    callbacks: Sequence[Callback]
    progress: bool
    source: Any
    target: Any
    pairs: Any
    weights: float | Iterable[float]
    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_language: str | None
    target_language: str | None
    output: str | Path
    out: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    epochs: float
    dropout: float | None
    label_smoothing: float | None
    max_characters: int
    max_length_ratio: float
    valid_size: str
    bpe_dropout: float
    languages: Iterable[str] | None
    variant: str
    tokenize: str
    lowercase: bool
    language_token: str | None

class FineTuneLanguageModelKeywords(TypedDict, total=False):
    valid: Any
    labels: Any
    source_column: str | None
    target_column: str | None
    text_column: str | None
    second_column: str | None
    label_column: str | None
    image_column: str | None
    callbacks: Sequence[Callback]
    progress: bool
    valid_labels: Any
    columns: str
    output: str | Path
    out: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    epochs: float
    auxiliary_weight: float
    form: Literal["automatic", "classification", "entailment", "similarity", "choice"]
    pretrained: bool
    dropout: float | float | None
    valid_size: str
    text: Any
    valid_text: Any
    max_valid_characters: int
    music: Any
    transpose: int

class FineTuneBertKeywords(TypedDict, total=False):
    valid: Any
    labels: Any
    source_column: str | None
    target_column: str | None
    text_column: str | None
    second_column: str | None
    label_column: str | None
    image_column: str | None
    callbacks: Sequence[Callback]
    progress: bool
    valid_labels: Any
    columns: str
    valid_columns: str
    output: str | Path
    out: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    epochs: float
    task: Literal["automatic", "classes", "numbers"]
    pretrained: bool
    dropout: float
    valid_size: str

class FineTuneImageClassifierKeywords(TypedDict, total=False):
    valid: Any
    labels: Any
    source_column: str | None
    target_column: str | None
    text_column: str | None
    second_column: str | None
    label_column: str | None
    image_column: str | None
    callbacks: Sequence[Callback]
    progress: bool
    images: Any
    scenes: int
    fit: bool
    output: str | Path
    out: str | Path
    recipe: str
    resume: bool
    tensorboard: bool
    data_cache: str | Path | None
    steps: int | None
    minutes: float | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    epochs: float
    dropout: float | None
    label_smoothing: float | None
    valid_size: str
    crop: int
    flip: bool
    operations: int
    magnitude: float
    augment_colors: bool
    erase: float

class ResumeKeywords(TypedDict, total=False):
    data: Any
    source: Any
    target: Any
    pairs: Any
    weights: float | Iterable[float]
    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_language: str | None
    target_language: str | None
    out: str | Path
    recipe: str
    tensorboard: bool
    data_cache: str | Path | None
    seed: int
    batch_tokens: int
    learning_rate: float
    warmup_steps: int
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["linear", "inverse-root", "constant"]
    adam_betas: Iterable[float]
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    validate_every: int
    average: int
    keep: Literal["best", "last"]
    patience: int
    device: Literal["auto", "cpu", "cuda", "mps"]
    processes: int
    gradient_accumulation_steps: int
    precision: Literal["auto", "float32", "bf16", "int16"]
    sharded: bool
    log_every: int
    milestones: bool
    max_characters: int
    max_length_ratio: float
    valid_size: str
    bpe_dropout: float
    languages: Iterable[str] | None
    variant: str
    tokenize: str
    lowercase: bool
    vocab_size: int
    architecture: Literal["transformer", "recurrent"]
    width: int
    encoder_depth: int
    decoder_depth: int
    heads: int
    ffn_width: int
    dropout: float | float | None
    attention_dropout: float
    norm: Literal["pre", "post"]
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    decoder_cell: Literal["attention", "ssru"]
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"] | Literal["learned", "rotary"]
    max_length: int
    label_smoothing: float | float | None
    beam_size: int
    length_penalty: float
    teacher_models: Iterable[str]
    distillation_weight: float
    distillation_temperature: float
    fine_tune: Any
    epochs: float
    language_token: str | None
    text: Any
    valid_text: Any
    token_type: Literal["subwords", "characters"]
    depth: int
    max_valid_characters: int
    music: Any
    transpose: int
    labels: Any
    valid_labels: Any
    columns: str
    auxiliary_weight: float
    form: Literal["automatic", "classification", "entailment", "similarity", "choice"]
    pretrained: bool
    cased: bool
    next_sentence: bool
    mask_share: float
    mask_token_share: float
    random_token_share: float
    whole_word_masking: bool
    valid_columns: str
    task: Literal["automatic", "classes", "numbers"]
    images: Any
    scenes: int
    size: int | None
    colours: Literal["grey", "colour"] | None
    crop: int
    flip: bool
    operations: int
    magnitude: float
    augment_colors: bool
    erase: float
    patch: int
    fit: bool
    quantizer: Literal["lattice", "gumbel"]
    levels: int | Iterable[int]
    temperature: float
    captions: Any
    codebook: Any
    text_share: float
    blank_captions: float
    top_p: float
    guidance: float
    measured_captions: int
    measured_candidates: int
