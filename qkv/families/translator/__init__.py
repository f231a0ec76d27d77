"""Translators: encoder-decoder Transformers (T-ED), one-stream Transformers (T-D) and LSTMs with attention."""

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training

HERE = "qkv.families.translator"

FAMILY = Family(
    name="translator",
    bundles=(
        BundleKind(
            name="translator",
            product=f"{HERE}.product:Translator",
            commands=("translate", "evaluate", "train translator --fine-tune", "distill", "adapt"),
            evaluate=f"{HERE}.commands.evaluate:main",
            evaluator=f"{HERE}.evaluation:EVALUATOR",
            trace=f"{HERE}.trace:trace_translator",
            recompute=f"{HERE}.recompute:recompute",
            ctranslate2=f"{HERE}.ctranslate2:EXPORTER",
        ),
    ),
    trainings=(
        Training(
            name="translator",
            summary="train a translator from two text files (or .tsv, .jsonl, .tmx, .po), or fine-tune one",
            trainables=f"{HERE}.commands.train:TRAINABLES",
        ),
    ),
    commands=(
        Command(
            name="demo",
            summary="train the built-in English-German translator and show what it has learned",
            run=f"{HERE}.commands.demo:main",
        ),
        Command(
            name="translate",
            summary="translate text, a file, or lines from standard input",
            run=f"{HERE}.commands.translate:main",
        ),
        Command(
            name="distill",
            summary="train a smaller, faster translator on the translations of others",
            run=f"{HERE}.commands.distill:main",
        ),
        Command(
            name="adapt",
            summary="adapt a translator to the translations of a project without losing general quality",
            run=f"{HERE}.commands.adapt:main",
        ),
    ),
    hub=(
        HubFormat(
            model_type="marian",
            classes=("MarianMTModel",),
            mapping=f"{HERE}.hub:MarianMapping",
            translates=True,
        ),
        HubFormat(
            model_type="pegasus",
            classes=("PegasusForConditionalGeneration",),
            mapping=f"{HERE}.hub:MarianMapping",
            translates=True,
        ),
    ),
    exports=(("translator", f"{HERE}.hub:MarianMapping"),),
    marian=f"{HERE}.marian_import:IMPORTER",
    ctranslate2=tuple(
        (name, f"{HERE}.ctranslate2_import:IMPORTER")
        for name in (
            "TransformerSpec",
            "TransformerBase",
            "TransformerBig",
        )  # the last two were written before 2021
    ),
)
