"""Train and fine-tune models: what `qkv train` does, for Python programs.

Every option of the command is a keyword with the same name and default. What is not given follows from the recipe and
from the amount of data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from qkv.api.starting import (
    VALID,
    check_same_length,
    fine_tuning_of,
    model_input,
    name_data,
    resume_model,
    train_model,
    trainables_of,
)
from qkv.errors import InputError, ModelError
from qkv.families import bundle_kinds, own_families, trainings
from qkv.families.loading import kind_of
from qkv.signatures import with_options
from qkv.training.command import nominal_command

if TYPE_CHECKING:
    from qkv.api.loading import AnyModel
    from qkv.families.bert.classifier import TextClassifier
    from qkv.families.bert.product import Bert
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.product import ImageGenerator
    from qkv.families.gpt.product import LanguageModel
    from qkv.families.translator.product import Translator
    from qkv.families.vit.product import ImageClassifier
    from qkv.keywords import (
        FineTuneBertKeywords,
        FineTuneImageClassifierKeywords,
        FineTuneKeywords,
        FineTuneLanguageModelKeywords,
        FineTuneTranslatorKeywords,
        ResumeKeywords,
        TrainBertKeywords,
        TrainCodebookKeywords,
        TrainDalleKeywords,
        TrainGptKeywords,
        TrainTranslatorKeywords,
        TrainVitKeywords,
    )
    from qkv.training.callbacks import Callback


def train(
    name: str,
    data: Any = None,
    *,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Any,
) -> Any:
    """Train a model of any family, also of one that another package adds: what `qkv train NAME` does.

    For qkv's own families, `train_translator` and the other functions say more about their data and options.

    Args:
        name: What to train, as in `qkv train NAME`.
        data: The data, if the family accepts data that are not files. Files are given by their options.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.
        options: Options of `qkv train NAME`, with underscores.

    Returns:
        The model, opened as by `qkv.load`.

    Raises:
        InputError: No family trains models of this name.

    Example:
        >>> texts = ["one two three four five " * 40]
        >>> tiny = {"width": 8, "heads": 2, "ffn_width": 8, "max_length": 8, "processes": 1}
        >>> qkv.train("gpt", texts, output="runs/any", steps=2, progress=False, **tiny).report["training"]["steps"]
        2
    """
    if name not in trainings():
        raise InputError(f"nothing trains {name!r}. Choose from {', '.join(trainings())}.")
    tunes = options.get("fine_tune") is not None
    siblings = [each for each in trainables_of(name) if ("fine_tune" in each.needs) == tunes]
    return train_model("train", name, name_data(siblings, data, options), callbacks, progress)


def options_for(name: str, *, fine_tunes: bool = False) -> list[Any]:
    """The options of `qkv train NAME`, with the defaults that its help shows."""
    chosen = [each for each in trainables_of(name) if ("fine_tune" in each.needs) == fine_tunes]
    return [nominal_command(each, None) for each in chosen]


@with_options(*options_for("translator"), aliases={"valid": "valid_pairs"})
def train_translator(
    pairs: Any = None,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainTranslatorKeywords],
) -> Translator:
    """Train a translator on sentence pairs.

    Without further options, the settings follow from the amount of data. The defaults below are those for 30,000 pairs.

    Args:
        pairs: Rows of a source and a target: a list, an iterator, a data set, a table or a dictionary of columns. Or a file:
            .tsv, .jsonl, .tmx or .po. Columns are found by the names source and target, or by `source_language` and
            `target_language`: en, eng, English or en_text.
        source_column: The column of the sources, if its name does not say so.
        target_column: The column of the targets.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The translator, opened as by `qkv.load`. Its `report` has the scores and the learning curve.

    Raises:
        InputError: An element of the data cannot be used; the message names it.
        KeyboardInterrupt: The run was interrupted. It is saved, and `qkv.resume` continues it.

    Example:
        >>> pairs = [(f"{a} {b}", f"{b} {a}") for a in "abcdef" for b in "abcdef"]
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "ffn_width": 8, "vocab_size": 262, "processes": 1}
        >>> model = qkv.train_translator(pairs, output="runs/swap", progress=False, **tiny)
        >>> model.report["training"]["steps"]
        2
    """
    given = {"pairs": pairs, "source_column": source_column, "target_column": target_column, **options}
    model: Translator = train_model("train_translator", "translator", given, callbacks, progress)
    return model


@with_options(*options_for("gpt"), aliases={"valid": "valid_text"})
def train_gpt(
    text: Any = None,
    *,
    text_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainGptKeywords],
) -> LanguageModel:
    """Train a language model on text, or on music with `music`.

    Without further options, the settings follow from the amount of data. The defaults below are those for a million
    characters.

    Args:
        text: The texts: a list or an iterator of strings, a data set, a table. A single string or path is a file, and so is
            each path in a list of paths. Without it, the source code of Python's standard library.
        text_column: The column of the texts, if its name does not say so.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The language model, opened as by `qkv.load`. Its `report` has the scores and the learning curve.

    Example:
        >>> texts = ["one two three four five " * 40]
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "ffn_width": 8, "max_length": 8, "processes": 1}
        >>> model = qkv.train_gpt(texts, output="runs/numbers", progress=False, **tiny)
        >>> model.report["training"]["ended_by"]
        'steps'
    """
    given = {"text": text, "text_column": text_column, **options}
    model: LanguageModel = train_model("train_gpt", "gpt", given, callbacks, progress)
    return model


@with_options(*options_for("bert"), aliases={"valid": "valid_text"})
def train_bert(
    text: Any = None,
    *,
    text_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainBertKeywords],
) -> Bert:
    """Train a BERT on text, to guess masked words and whether one passage follows another.

    Args:
        text: The texts: a list or an iterator of strings, a data set, a table. A blank line ends a document. If no document
            has two sentences, next sentences are not predicted. A single string or path is a file, and so is each path in a list of paths. Without it, the help texts and docstrings of Python's
            standard library.
        text_column: The column of the texts, if its name does not say so.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The model, opened as by `qkv.load`. Its `report` has the scores and the learning curve.

    Example:
        >>> texts = ["One cat sat here. Two dogs ran away. " * 5] * 12
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "ffn_width": 8, "depth": 1, "processes": 1}
        >>> model = qkv.train_bert(texts, output="runs/prose", progress=False, **tiny)
        >>> model.report["training"]["steps"]
        2
    """
    given = {"text": text, "text_column": text_column, **options}
    model: Bert = train_model("train_bert", "bert", given, callbacks, progress)
    return model


@with_options(*options_for("vit"))
def train_vit(
    images: Any = None,
    labels: Any = None,
    *,
    valid: Any = None,
    image_column: str | None = None,
    label_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainVitKeywords],
) -> ImageClassifier:
    """Train an image classifier.

    Args:
        images: Rows of an image and a label: a list, an iterator, a data set or a table. An image is a PIL image, an array of
            bytes or a path. Or images alone, with `labels` apart. Or a folder with a folder per class.
        labels: The label of each image, if `images` has none.
        valid: Rows to validate on; by default some images are held out.
        image_column: The column of the images, if its name does not say so.
        label_column: The column of the labels.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The classifier, opened as by `qkv.load`. Its `report` has the scores and the learning curve.

    Example:
        >>> import numpy as np
        >>> images = [np.full((8, 8), 200 * (n % 2), dtype=np.uint8) for n in range(20)]
        >>> labels = ["dark", "light"] * 10
        >>> tiny = {"steps": 2, "width": 8, "heads": 2, "ffn_width": 8, "depth": 1, "patch": 4, "processes": 1}
        >>> model = qkv.train_vit(images, labels, output="runs/shades", progress=False, **tiny)
        >>> model.report["data"]["classes"]
        ['dark', 'light']
    """
    if labels is not None:
        check_same_length(("images", images, "images"), ("labels", labels))
        images = {"image": images, "label": labels}
    given = {
        "images": images, "valid": valid, "image_column": image_column, "label_column": label_column, **options
    }  # fmt: skip
    model: ImageClassifier = train_model("train_vit", "vit", given, callbacks, progress)
    return model


@with_options(*options_for("codebook"))
def train_codebook(
    images: Any = None,
    *,
    image_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainCodebookKeywords],
) -> Codebook:
    """Train a codebook: the image codes that DALL-E draws with.

    Args:
        images: Square images: a list, an iterator, an array, a data set or a table. An image is a PIL image, an array of bytes
            or a path. Or a folder. For built-in images, give `scenes` instead.
        image_column: The column of the images, if its name does not say so.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The codebook, opened as by `qkv.load`.

    Example:
        >>> import numpy as np
        >>> images = np.arange(20 * 8 * 8 * 3, dtype=np.uint8).reshape(20, 8, 8, 3)
        >>> model = qkv.train_codebook(images, output="runs/codes", steps=2, width=8, processes=1, progress=False)
        >>> model.report["training"]["steps"]
        2
    """
    given = {"images": images, "image_column": image_column, **options}
    model: Codebook = train_model("train_codebook", "codebook", given, callbacks, progress)
    return model


@with_options(*options_for("dalle"))
def train_dalle(
    images: Any = None,
    captions: Any = None,
    *,
    codebook: Any = None,
    image_column: str | None = None,
    caption_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[TrainDalleKeywords],
) -> ImageGenerator:
    """Train a model that draws what a caption says.

    Args:
        images: Rows of an image and a caption: a list, an iterator, a data set or a table. An image is a PIL image, an array
            of bytes or a path. Or images alone, with `captions` apart. Or a folder with captions.tsv. For built-in images,
            give `scenes` instead.
        captions: The caption of each image, if `images` has none. Several captions of one image are a list.
        codebook: A codebook that was trained on similar images, or its folder.
        image_column: The column of the images, if its name does not say so.
        caption_column: The column of the captions.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The model, opened as by `qkv.load`.

    Example:
        >>> import numpy as np
        >>> images = np.arange(20 * 8 * 8 * 3, dtype=np.uint8).reshape(20, 8, 8, 3)
        >>> captions = ["a cat", "a dog"] * 10
        >>> tiny = {"steps": 2, "width": 8, "processes": 1, "progress": False}
        >>> codes = qkv.train_codebook(images, output="runs/more-codes", **tiny)
        >>> model = qkv.train_dalle(images, captions, codebook=codes, output="runs/pictures", heads=2, depth=1, **tiny)
        >>> model.report["training"]["steps"]
        2
    """
    if captions is not None and not isinstance(captions, str | Path):
        check_same_length(("images", images, "images"), ("captions", captions))
    given = {
        "images": images, "captions": captions, "codebook": codebook, "image_column": image_column,
        "caption_column": caption_column, **options,
    }  # fmt: skip
    model: ImageGenerator = train_model("train_dalle", "dalle", given, callbacks, progress)
    return model


# Data decide what a language model becomes, so a type checker knows all methods of the result. A model of no known class
# comes last: earlier it would hide the others.


@overload
def fine_tune(
    model: AnyModel | str | Path, data: Any = ..., **options: Unpack[FineTuneKeywords]
) -> AnyModel: ...


@overload
def fine_tune(
    model: Translator, data: Any = ..., **options: Unpack[FineTuneTranslatorKeywords]
) -> Translator: ...


@overload
def fine_tune(
    model: LanguageModel, data: Any = ..., **options: Unpack[FineTuneLanguageModelKeywords]
) -> AnyModel: ...


@overload
def fine_tune(model: Bert, data: Any = ..., **options: Unpack[FineTuneBertKeywords]) -> TextClassifier: ...


@overload
def fine_tune(
    model: ImageClassifier, data: Any = ..., **options: Unpack[FineTuneImageClassifierKeywords]
) -> ImageClassifier: ...


@overload
def fine_tune(model: Any, data: Any = ..., **options: Unpack[FineTuneKeywords]) -> Any: ...


@with_options(
    *(
        each
        for family in own_families()
        for training in family.trainings
        for each in options_for(training.name, fine_tunes=True)
    ),
    without=("fine_tune",),
    varying=True,
)
def fine_tune(
    model: Any,
    data: Any = None,
    *,
    valid: Any = None,
    labels: Any = None,
    source_column: str | None = None,
    target_column: str | None = None,
    text_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    image_column: str | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Any,
) -> Any:
    """Fine-tune a model on other data. The family of the model decides what the data are.

    Options that do not exist for the family are a TypeError. Where families have different defaults, the signature shows
    <by family>; `qkv.train_translator`, `qkv.train_gpt` and the others show those of training.

    Args:
        model: A model, its folder, or the name of a model on the hub.
        data: For a translator, sentence pairs. For a GPT, texts; or rows of a text, perhaps a second one, and a label, which
            make it a classifier. For a BERT, such rows. For an image classifier, rows of an image and a label. All as in the
            functions that train a model, or as files.
        valid: Data to validate on; by default some are held out.
        labels: The label of each text or image, if `data` has none. Or a file of labeled texts.
        source_column: The column of the sources of sentence pairs, if its name does not say so.
        target_column: The column of the targets.
        text_column: The column of the texts.
        second_column: The column of the second texts, of pairs of texts.
        label_column: The column of the labels.
        image_column: The column of the images.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.

    Returns:
        The new model, opened as by `qkv.load`. The old one is unchanged.

    Raises:
        ModelError: The model cannot be fine-tuned.

    Example:
        >>> pairs = [(f"{a} {b}", f"{b} {a}") for a in "abcdef" for b in "abcdef"]
        >>> model = qkv.fine_tune("runs/en-de", pairs, output="runs/tuned", steps=2, processes=1, progress=False)
        >>> model.report["fine_tuned"]["from"]
        'en-de'
    """
    base = model_input("model", model)
    kind = kind_of(base) if isinstance(base, Path) else None
    name = training_of(model if kind is None else kind.commands, base)
    siblings = [each for each in trainables_of(name) if "fine_tune" in each.needs]
    given = name_data(siblings, data, {**options, "labels": labels})
    if valid is not None:
        given = {**given, valid_name(given): valid}
    columns = {
        "source_column": source_column, "target_column": target_column, "text_column": text_column,
        "second_column": second_column, "label_column": label_column, "image_column": image_column,
    }  # fmt: skip
    chosen = {each: value for each, value in (given | columns).items() if value is not None}
    called = VALID if data is None else {**VALID, **{each.inputs.MAIN: "data" for each in siblings}}
    return train_model("fine_tune", name, {"fine_tune": model, **chosen}, callbacks, progress, called)


def training_of(commands: Any, model: Any) -> str:
    """What fine-tunes a model, from the commands that accept it, or from its class if it has no folder."""
    from qkv.families.family import resolve

    if not isinstance(commands, tuple):
        kinds = [kind for kind in bundle_kinds().values() if resolve(kind.product) is type(commands)]
        commands = kinds[0].commands if kinds else ()
    name = fine_tuning_of(commands)
    if name is None:
        what = str(model) if isinstance(model, Path) else f"a {type(model).__name__}"
        known = ", ".join(each.name for each in bundle_kinds().values() if fine_tuning_of(each.commands))
        raise ModelError(f"{what} cannot be fine-tuned. Kinds of models that can: {known}.")
    return name


def valid_name(given: dict[str, Any]) -> str:
    """The name of the validation data that belong to the data that are given."""
    names = {"text": "valid_text", "labels": "valid_labels", "images": "valid"}
    return next((names[name] for name in names if given.get(name) is not None), "valid_pairs")


def resume(
    output: str | Path,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    **options: Unpack[ResumeKeywords],
) -> AnyModel:
    """Resume a training run that was interrupted, or extend one that is complete.

    The run continues as if it had never stopped. It keeps its options. Its data may be given again if files have moved.

    Args:
        output: The folder of the run.
        steps: A new limit on steps, higher than before.
        minutes: A new limit on minutes, higher than before.
        callbacks: Instances of `qkv.Callback`.
        progress: Show progress: a bar in a terminal, a live line in a notebook, otherwise some lines.
        options: Options of the function that started the run. Others than `processes`, `device`, `tensorboard` and paths must
            be the same as before.

    Returns:
        The model, opened as by `qkv.load`.

    Raises:
        DataError: There is no run in the folder.

    Example:
        >>> tiny = {"width": 8, "heads": 2, "ffn_width": 8, "max_length": 8, "processes": 1}
        >>> texts = ["one two three four five " * 40]
        >>> model = qkv.train_gpt(texts, output="runs/short", steps=2, progress=False, **tiny)
        >>> qkv.resume("runs/short", steps=4, progress=False).report["training"]["steps"]
        4
    """
    limits = {name: value for name, value in (("steps", steps), ("minutes", minutes)) if value is not None}
    model: AnyModel = resume_model("resume", Path(output), {**options, **limits}, callbacks, progress)
    return model
