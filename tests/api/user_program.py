"""A program as a user would write it. `mypy --strict` checks it: see test_typing.py. It is never run."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import qkv
from qkv import Prediction, Translation, Translator


def any_model() -> None:
    model = qkv.load("runs/en-de")
    text: str = model.translate("Hello.", beam=4, glossary={"cat": "Kater"})
    continued: str = model.generate(text, max_new_tokens=20)
    facts: dict[str, str] = model.info()
    print(continued, facts, model.embed(["one"]).shape)


def translating(lines: Iterator[str]) -> None:
    with Translator.load("Helsinki-NLP/opus-mt-en-de", compute_type="float32", threads=2) as translator:
        one: str = translator.translate("Hello.")
        many: list[str] = translator.translate(["Hello.", "Goodbye."], beam_size=5)
        lazy: Iterator[str] = translator.translate(lines)
        column: list[str] = translator.translate(np.array(["a", "b"]))
        several: list[str] = translator.translate("Hello.", num_hypotheses=3)
        detailed: Translation = translator.translate("Hello.", details=True)
        all_of_it: list[list[Translation]] = translator.translate(["a"], num_hypotheses=3, details=True)
        print(one, many, next(lazy), column, several, detailed.confidence, all_of_it[0][0].words[0].text)
        translator.translate_file("letters.en", Path("letters.de"), scores=True)
        for part in translator.stream("Hello."):
            print(part.upper())


def other_models(image: Path) -> None:
    classifier = qkv.load("runs/digits", kind=qkv.ImageClassifier)
    prediction: Prediction = classifier.classify(image, fit=True)
    predictions: list[Prediction] = classifier.classify([image, image])
    print(prediction.label, predictions[0].probabilities["seven"])
    bert = qkv.Bert.load("runs/bert")
    similarity: float = bert.similar("one", "two")
    guesses: list[list[qkv.Guess]] = bert.fill("The cat [MASK].", top_k=3)
    print(similarity, guesses[0][0].word, bert.embed("a text") @ bert.embed("another"))
    texts = qkv.TextClassifier.load("runs/sentiment")
    verdict: Prediction = texts.classify("Great!")
    verdicts: list[Prediction] = texts.classify(["Great!", "Awful!"])
    print(verdict.label, len(verdicts))
    painter = qkv.ImageGenerator.load("runs/scenes")
    drawing: qkv.Drawing = painter.draw("a red ring")
    best: list[qkv.Drawing] = painter.draw("a red ring", top_k=4)
    drawing.image.save("ring.png")
    print(len(best))


async def served(translator: Translator) -> None:
    answer: str = await translator.atranslate("Hello.", beam=4)
    print(answer)
    many: list[str] = await translator.atranslate(["Hello.", "Goodbye."])
    detailed: Translation = await translator.atranslate("Hello.", details=True)
    continued: list[str] = await qkv.LanguageModel.load("runs/gpt").agenerate(["one"])
    similarity: float = await qkv.Bert.load("runs/bert").asimilar("one", "two")
    print(many, detailed.confidence, continued, similarity)
    async for each in translator.atranslate(line for line in many):
        print(each.upper())
    async for row in translator.atranslate(iter(many), num_hypotheses=2, details=True):
        print(row[0].score)
    detailed_or_not: object = await translator.atranslate("Hello.", details=len(many) > 1)
    print(detailed_or_not)


def trained(translator: Translator, bert: qkv.Bert) -> None:
    tuned: Translator = qkv.fine_tune(translator, [("a", "b")], output="runs/tuned", steps=2)
    classifier: qkv.TextClassifier = qkv.fine_tune(bert, [("a", "good")], output="runs/labels")
    resumed: str = qkv.resume("runs/tuned", steps=4).translate("a")
    print(tuned.translate("a"), classifier.classify("a").label, resumed)


def with_many_options(data: list[tuple[str, str]]) -> None:
    translator = qkv.train_translator(
        data, valid=data[:3], output=Path("runs/new"), width=64, minutes=1, callbacks=[qkv.Callback()]
    )
    text: str = translator.translate(
        "x", beam=2, contain=["y"], protect="none", ensemble=["runs/b"], done=lambda count: None
    )
    texts: list[str] = translator.translate(["x"], details=False, min_confidence=0.5, withhold=True)
    tuned = qkv.fine_tune(translator, data, valid=data, source_column="a", out="runs/tuned", epochs=2)
    report: qkv.TranslationReport = qkv.evaluate(tuned, ["a"], ["b"], beam_size=1, progress=False)
    student = qkv.distill(translator, ["a"], output="runs/student", steps=10, valid=data)
    qkv.clean(data, source_language="en", target_language="de", output="clean.tsv")
    qkv.export(student, "ctranslate2", "runs/ct2", compute_type="int8")
    qkv.resume("runs/new", steps=20, processes=1)
    qkv.explore(translator, "x", no_open=True)
    print(text, texts, report.bleu)


def careful() -> None:
    try:
        qkv.load("runs/en-de").translate("Hello.", qkv.TranslationOptions(beam_size=4))
    except (qkv.InputError, qkv.OptionError) as error:
        print(error)
    except qkv.QkvError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    asyncio.run(served(qkv.load("runs/en-de", kind=Translator)))
