"""Image classifiers (Vision Transformer)."""

from qkv.families.family import BundleKind, Family, HubFormat, Training

HERE = "qkv.families.vit"

FAMILY = Family(
    name="vit",
    bundles=(
        BundleKind(
            name="vit",
            product=f"{HERE}.product:ImageClassifier",
            commands=("classify", "evaluate", "train vit --fine-tune"),
            evaluate=f"{HERE}.commands.evaluate:main",
            evaluator=f"{HERE}.evaluation:EVALUATOR",
            evaluate_options=("--images", "--scenes"),
            trace=f"{HERE}.trace:trace_vit",
            recompute=f"{HERE}.recompute:recompute",
        ),
    ),
    trainings=(
        Training(
            name="vit",
            summary="train an image classifier (ViT) from folders or idx files, or fine-tune one",
            trainables=f"{HERE}.commands.train:TRAINABLES",
        ),
    ),
    hub=(
        HubFormat(model_type="vit", classes=("ViTForImageClassification",), mapping=f"{HERE}.hub:VitMapping"),
    ),
    exports=(("vit", f"{HERE}.hub:VitMapping"),),
)
