"""Language models on text and music (GPT-1, GPT-2), and classifiers fine-tuned from them."""

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training

HERE = "qkv.families.gpt"

FAMILY = Family(
    name="gpt",
    bundles=(
        BundleKind(
            name="gpt",
            product=f"{HERE}.product:LanguageModel",
            commands=("generate", "evaluate", "train gpt --fine-tune"),
            evaluate=f"{HERE}.commands.evaluate:main",
            evaluator=f"{HERE}.evaluation:EVALUATOR",
            evaluate_options=("--text", "--music"),
            trace=f"{HERE}.trace:trace_gpt",
            recompute=f"{HERE}.recompute:recompute",
            examples=("My friends like tomatoes because", "the cat"),
            ctranslate2=f"{HERE}.ctranslate2:EXPORTER",
        ),
        BundleKind(
            name="gpt-classifier",
            product=f"{HERE}.classifier:GPTClassifier",
            commands=("classify", "evaluate"),
            evaluate="qkv.cli.evaluate_labels:main",
            evaluate_options=("--labels",),
            evaluator="qkv.families.label_evaluation:EVALUATOR",
        ),
    ),
    trainings=(
        Training(
            name="gpt",
            summary="train a language model on text or music, or fine-tune one",
            trainables=f"{HERE}.commands.train:TRAINABLES",
        ),
    ),
    commands=(
        Command(
            name="generate", summary="continue a text, or compose music", run=f"{HERE}.commands.generate:main"
        ),
    ),
    hub=(
        HubFormat(
            model_type="openai-gpt",
            classes=("OpenAIGPTLMHeadModel", "OpenAIGPTModel"),
            mapping=f"{HERE}.hub:GPTMapping",
        ),
        HubFormat(
            model_type="gpt2", classes=("GPT2LMHeadModel", "GPT2Model"), mapping=f"{HERE}.hub:GPTMapping"
        ),
    ),
    exports=(("gpt", f"{HERE}.hub:GPTMapping"),),
)
