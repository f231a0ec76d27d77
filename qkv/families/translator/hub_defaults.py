"""What a published translator says of itself beside its weights: its languages, and how it is to be asked."""

from qkv.configs import from_dict
from qkv.errors import UserError
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.model import TranslatorConfig
from qkv.hub.folder import Published
from qkv.hub.mapping import NOTES

WHOLE = 200  # pieces of a source that is translated whole: these models were trained on sentences


def defaults_of(published: Published, config: TranslatorConfig) -> TranslatorDefaults:
    """Those that we have written beside it, or what its own files tell."""
    notes = published.json(NOTES)
    if "defaults" in notes:
        where = f"{published.where}/{NOTES}"
        return checked(from_dict(TranslatorDefaults, notes["defaults"], where), config, where)
    said = published.json("tokenizer_config.json")
    generation = {**published.config, **published.json("generation_config.json")}
    beam = generation.get("num_beams")
    source, target = (said.get(name) for name in ("source_lang", "target_lang"))
    return TranslatorDefaults(
        languages=Languages.of(
            source if isinstance(source, str) else None, target if isinstance(target, str) else None
        ),
        max_source_length=min(WHOLE, config.max_length - 2),
        beam_size=beam if isinstance(beam, int) and 0 < beam < 100 else 4,
        length_penalty=1.0,
    )


def checked(defaults: TranslatorDefaults, config: TranslatorConfig, where: str) -> TranslatorDefaults:
    """What was written beside a model may have been written for another one."""
    if defaults.aligner is not None and not defaults.aligner.fits(*config.cross_attention_shape):
        raise UserError(f"{where}: the aligner should look with heads that the model has.")
    return defaults
