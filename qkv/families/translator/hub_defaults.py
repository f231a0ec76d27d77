"""The languages and decoding defaults of a published translator."""

from qkv.configs import from_dict
from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.hub.folder import Published
from qkv.hub.mapping import NOTES

MAX_SOURCE_LENGTH = 200  # tokens; these models were trained on sentences


def defaults_of(published: Published, config: TranslatorConfig) -> TranslatorDefaults:
    """The defaults that an export by qkv has noted, or those of its own files."""
    notes = published.json(NOTES)
    if "defaults" in notes:
        where = f"{published.where}/{NOTES}"
        return check_aligner(from_dict(TranslatorDefaults, notes["defaults"], where), config, where)
    tokenizer = published.json("tokenizer_config.json")
    generation = {**published.config, **published.json("generation_config.json")}
    beam = generation.get("num_beams")
    source, target = (tokenizer.get(name) for name in ("source_lang", "target_lang"))
    return TranslatorDefaults(
        languages=Languages.of(
            source if isinstance(source, str) else None, target if isinstance(target, str) else None
        ),
        max_source_length=min(MAX_SOURCE_LENGTH, config.max_length - 2),
        beam_size=beam if isinstance(beam, int) and 0 < beam < 100 else 4,
        length_penalty=1.0,
        length_norm="length",
    )


def check_aligner(defaults: TranslatorDefaults, config: TranslatorConfig, where: str) -> TranslatorDefaults:
    """The notes may belong to another model."""
    if defaults.aligner is not None and not defaults.aligner.fits(*config.cross_attention_shape):
        raise DataError(f"{where}: the aligner should name heads that the model has.")
    return defaults
