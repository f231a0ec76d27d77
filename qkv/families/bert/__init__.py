"""Text encoders (BERT): masked words, embeddings, and classifiers fine-tuned from them."""

from qkv.families.family import BundleKind, Command, Family, HubFormat, Training

HERE = "qkv.families.bert"

FAMILY = Family(
    name="bert",
    bundles=(
        BundleKind(
            name="bert",
            product=f"{HERE}.product:Bert",
            commands=("fill", "embed", "similar", "train bert --fine-tune"),
            trace=f"{HERE}.trace:trace_bert",
            recompute=f"{HERE}.recompute:recompute",
            examples=("The cat [MASK] on the mat.", "My friends like [MASK] because they are tasty."),
            ctranslate2=f"{HERE}.ctranslate2:EXPORTER",
        ),
        BundleKind(
            name="bert-classifier",
            product=f"{HERE}.classifier:TextClassifier",
            commands=("classify", "evaluate", "train bert --fine-tune"),
            evaluate="qkv.cli.evaluate_labels:main",
            evaluate_options=("--labels",),
            evaluator="qkv.families.label_evaluation:EVALUATOR",
        ),
    ),
    trainings=(
        Training(
            name="bert",
            summary="train a BERT on text, or fine-tune one on labeled texts",
            trainables=f"{HERE}.commands.train:TRAINABLES",
        ),
    ),
    commands=(
        Command(
            name="fill",
            summary="predict the words that [MASK] stands for",
            run=f"{HERE}.commands.fill:main",
        ),
        Command(name="embed", summary="turn texts into vectors", run=f"{HERE}.commands.embed:main"),
        Command(
            name="similar", summary="measure how similar two texts are", run=f"{HERE}.commands.similar:main"
        ),
    ),
    hub=(
        HubFormat(
            model_type="bert",
            classes=(
                "BertModel",
                "BertForMaskedLM",
                "BertForNextSentencePrediction",
                "BertForPreTraining",
                "BertForSequenceClassification",
            ),
            mapping=f"{HERE}.hub:BertMapping",
        ),
    ),
    exports=(("bert", f"{HERE}.hub:BertMapping"), ("bert-classifier", f"{HERE}.hub:BertMapping")),
)
