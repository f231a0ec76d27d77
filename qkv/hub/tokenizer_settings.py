"""Settings of a published tokenizer. Unsupported ones are errors, because other tokens would change the model."""

from collections.abc import Collection, Mapping
from typing import Any

from qkv.errors import DataError
from qkv.hub.folder import Published

SETTINGS, ADDED = "tokenizer_config.json", "added_tokens.json"
BY_ITS_FILE = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that follow tokenizer.json
LINES = (  # mixed scripts, and what tokenizers disagree about: capitals, accents, spaces, symbols
    "The Quick brown fox isn't 3.14 metres away!",
    " Ångström, naïve café; STRASSE Straße",
    "Привет, мир  —  γειά σου",
    "東京タワー 你好，世界 한국어 ไทย",
    "مرحبا שלום नमस्ते 👋🏽 ½ ﬁne\u00a0end",
)


def tokenizer_settings(published: Published, classes: Collection[str]) -> dict[str, Any]:
    """tokenizer_config.json, whose class is one of these or does what tokenizer.json says."""
    settings, where = published.json(SETTINGS), published.where
    if "auto_map" in settings:
        raise DataError(
            f"{where}: its {SETTINGS} needs custom code (auto_map), which qkv never runs. Without that code the "
            "tokenizer cannot be imported."
        )
    name = class_of(published)
    if name is not None and name not in classes and name not in BY_ITS_FILE:
        raise DataError(
            f"{where} uses the tokenizer class {name}, which qkv does not support. For this model it supports "
            f"{', '.join(classes)}."
        )
    return settings


def class_of(published: Published) -> Any:
    return published.json(SETTINGS).get("tokenizer_class") or published.config.get("tokenizer_class")


def must_be(settings: Mapping[str, Any], name: str, wanted: Any, where: str) -> None:
    """Check a setting that has only one supported value, its default."""
    value = settings.get(name)
    if value is not None and value != wanted:
        raise DataError(f"{where}/{SETTINGS}: {name} is {value!r}; qkv supports only {wanted!r}.")


def choice(settings: Mapping[str, Any], name: str, default: bool | None, where: str) -> bool | None:
    value = settings.get(name)
    if value is not None and not isinstance(value, bool):
        raise DataError(f"{where}/{SETTINGS}: {name} should be true or false, not {value!r}.")
    return default if value is None else value


def check_added_tokens(published: Published, known: Collection[str]) -> None:
    """Reject tokens in a file of their own that the vocabulary lacks."""
    more = [token for token in published.json(ADDED) if token not in known]
    if more:
        raise DataError(
            f"{published.where}/{ADDED} has tokens that the vocabulary lacks ({', '.join(more[:6])}), which qkv does not "
            "read. Save the tokenizer with transformers, so that tokenizer.json has them."
        )


def check_numbers(published: Published, numbers: Collection[int], vocab: int) -> None:
    """Every embedding must have a token, and every token an embedding."""
    if len(numbers) != vocab:
        raise DataError(
            f"{published.where}: the tokenizer has {len(numbers):,} tokens, but the model has {vocab:,} embeddings. "
            "These files do not belong together."
        )
    if set(numbers) != set(range(vocab)):
        raise DataError(
            f"{published.where}: the token ids must be the numbers from 0 to {vocab - 1:,}, each once."
        )


def name_of(token: Any, default: str) -> str:
    """The text of a special token, which is stored as a string or in an object."""
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else default
