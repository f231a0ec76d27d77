"""Text to image (DALL-E): a codebook of image patches, and a decoder that writes codes after a caption."""

from qkv.families.family import BundleKind, Command, Family, Training

HERE = "qkv.families.dalle"

FAMILY = Family(
    name="dalle",
    bundles=(
        BundleKind(
            name="codebook",
            product=f"{HERE}.codes:Codebook",
            commands=("train dalle", "evaluate"),
            evaluate=f"{HERE}.commands.evaluate:main",
            evaluator=f"{HERE}.evaluation:EVALUATOR",
            evaluate_options=("--images", "--scenes"),
        ),
        BundleKind(
            name="dalle",
            product=f"{HERE}.product:ImageGenerator",
            commands=("draw", "evaluate"),
            evaluate=f"{HERE}.commands.evaluate:main",
            evaluator=f"{HERE}.evaluation:EVALUATOR",
            evaluate_options=("--images", "--scenes"),
        ),
    ),
    trainings=(
        Training(
            name="codebook",
            summary="train the image codes that DALL-E draws with",
            trainables=f"{HERE}.commands.codebook:TRAINABLES",
        ),
        Training(
            name="dalle",
            summary="train a model that draws captions (DALL-E)",
            trainables=f"{HERE}.commands.train:TRAINABLES",
        ),
    ),
    commands=(Command(name="draw", summary="draw images of a caption", run=f"{HERE}.commands.draw:main"),),
)
