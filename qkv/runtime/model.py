"""Model: what all models have in common when they are used, whatever their family."""

import html
import importlib
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from qkv.checkpoint.bundle import CONFIG_FILE, Bundle
from qkv.checkpoint.training_report import REPORT_FILES, TrainingReport, copy_report
from qkv.errors import QkvError
from qkv.flags import OptionMessageError
from qkv.runtime.network import Network
from qkv.runtime.running import Running, Warn, silent
from qkv.signatures import with_options

if TYPE_CHECKING:
    from qkv.keywords import LoadKeywords


@dataclass(frozen=True)
class Opened:
    """The folder of a model, and how it was opened."""

    folder: Path
    running: Running


INTERNAL = {"_network", "_runner", "_defaults", "_others", "_form", "tokenizer", "codebook"}
"""Attributes of instances, which `close` removes."""
FOR_FAMILIES = {"from_bundle", "to_bundle"}
"""Public methods that families implement. Users call `load` and `save`."""
OF_OTHER_LIBRARIES = {"encode", "predict", "similarity"}
"""Methods that users of other libraries look for."""


def is_method_of_another(name: str) -> bool:
    """Whether models of another family, or of other libraries, have a method of this name."""
    if name in OF_OTHER_LIBRARIES:
        return True
    families = importlib.import_module(
        "qkv.families"
    )  # its records name the classes, which import this module
    resolve = importlib.import_module("qkv.families.family").resolve
    kinds = families.bundle_kinds(families.own_families()).values()
    return not name.startswith("_") and any(
        callable(getattr(resolve(kind.product), name, None)) for kind in kinds
    )


class Model:
    """A model that is open: the base of `Translator`, `LanguageModel`, `Bert` and all others.

    Open one with `qkv.load` or with `load` of its class. Threads can share it. `close()` frees its memory, and so does the
    end of a `with` block.

    A family of another package derives its model from this class, and implements `from_bundle`, `to_bundle` and `info`
    (docs/extending.md). The rest of qkv uses an internal interface: `_network` has the config and the weights, `_runner`
    computes, `_defaults` are what the model was saved with, `_running` opens the same weights in another way.

    Example:
        >>> with qkv.load("runs/en-de") as model:
        ...     isinstance(model, qkv.Model)
        True
    """

    _what: ClassVar[str] = "model"
    """For messages: "It is a GPT"."""
    _does: ClassVar[tuple[str, ...]] = ()
    """The methods that a user looks for, the most natural one first."""
    _network: Network[Any, Any]
    _opened: "Opened | None" = None
    """Where the model comes from; None if it was built in memory."""

    @classmethod
    @with_options(Running)
    def load(
        cls, model: str | Path, *, revision: str | None = None, **options: "Unpack[LoadKeywords]"
    ) -> Self:
        """Open a model of this class.

        Args:
            model: The folder of a model, or the name of a model on the hub, such as "Helsinki-NLP/opus-mt-en-de". A model of
                the hub is downloaded and converted once, and kept in qkv's cache folder. This needs qkv's extras `hub` and
                `train`.
            revision: Branch, tag or commit of a model on the hub.

        Returns:
            The model, as an instance of this class.

        Raises:
            ModelError: There is no model, it is damaged, or it belongs to another class.
            MissingExtraError: The model is on the hub, and an extra is not installed.

        Example:
            >>> translator = qkv.Translator.load("runs/en-de", compute_type="float32")
            >>> translator.translate("")
            ''
        """
        loading = importlib.import_module("qkv.api.loading")  # it knows all families, and imports this module
        opened: Self = loading.load(model, kind=cls, revision=revision, **options)
        return opened

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running, warn: Warn = silent) -> Self:
        """Open a bundle of this kind. Families implement it; users call `qkv.load`.

        Args:
            bundle: The config, the weights and the folder.
            running: How to run the model: compute type, device, engine, threads.
            warn: Called with a message for the user, for example if the compiled engine is unavailable.

        Returns:
            The model.

        Example:
            >>> from qkv.checkpoint.bundle import load_bundle
            >>> model = qkv.LanguageModel.from_bundle(load_bundle(Path("runs/gpt")), qkv.Running())
            >>> model.config == qkv.load("runs/gpt").config
            True
        """
        raise NotImplementedError

    def to_bundle(self, folder: Path) -> None:
        """Write config, weights and tokenizer. Families implement it; users call `save`, which also writes the report.

        Args:
            folder: Where to. The folder is made if it does not exist.

        Example:
            >>> qkv.load("runs/gpt").to_bundle(Path("runs/bare"))
            >>> sorted(path.name for path in Path("runs/bare").iterdir())
            ['config.json', 'model.safetensors', 'tokenizer.json']
        """
        raise NotImplementedError

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the model as a bundle, which `qkv.load` opens. The report of its training is saved with it.

        Args:
            folder: Where to. The folder is made if it does not exist.
            overwrite: Replace a model that is there already.

        Raises:
            OptionError: The folder holds a model already.

        Example:
            >>> qkv.load("runs/en-de").save("runs/copy")
            >>> qkv.load("runs/copy")
            Translator(en → de, 290 tokens)
        """
        folder = Path(folder)
        source = None if self._opened is None else self._opened.folder
        if (folder / CONFIG_FILE).exists():
            if not overwrite:
                raise OptionMessageError(
                    "{folder} already holds a model: give another folder, or add {overwrite=True}.",
                    folder=folder,
                )
            if source is None or source.resolve() != folder.resolve():
                for name in REPORT_FILES:
                    (folder / name).unlink(missing_ok=True)
        self.to_bundle(folder)
        if source is not None:
            copy_report(source, folder)

    def info(self) -> dict[str, str]:
        """What the model is, as `qkv info` shows it: kind, parameters, sizes.

        Returns:
            Names and values, in the order in which they are shown.

        Example:
            >>> qkv.load("runs/bert").info()["longest text"]
            '60 tokens'
        """
        raise NotImplementedError

    @property
    def report(self) -> TrainingReport:
        """What the training run reported: scores, settings, and the losses in `report.history`. A notebook shows the learning curve.

        It is empty for a model that was not trained here.

        Example:
            >>> qkv.load("runs/en-de").report.history
            []
        """
        self._check_open()
        return TrainingReport({}, []) if self._opened is None else TrainingReport.read(self._opened.folder)

    @property
    def config(self) -> Any:
        """The architecture: sizes of the model, as a frozen dataclass.

        Example:
            >>> qkv.load("runs/gpt").config.max_length
            80
        """
        return self._network.config

    @property
    def model(self) -> Any:
        """The same model as a `torch.nn.Module`, for training and experiments. It needs qkv's extra `train`.

        Example:
            >>> sum(weight.numel() for weight in qkv.load("runs/gpt").model.parameters())
            17984
        """
        return self._network.model

    def _running_options(self) -> dict[str, Any]:
        """How it runs, as options of `load`."""
        return {} if self._opened is None else asdict(self._opened.running)

    # Closing -------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the memory of the model. Every later call is an error; closing twice is not.

        Example:
            >>> model = qkv.load("runs/gpt")
            >>> model.close()
            >>> model.generate("one")
            Traceback (most recent call last):
            ...
            qkv.errors.QkvError: this LanguageModel is closed. Load the model again.
        """
        vars(self).clear()  # what it holds is freed when the last call that uses it ends
        vars(self)["_closed"] = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if "_closed" in vars(self):
            raise QkvError(f"this {type(self).__name__} is closed. Load the model again.")

    if not TYPE_CHECKING:  # a type checker knows all attributes

        def __getattr__(self, name: str) -> Any:
            """Explain a missing attribute: the model is closed, or the method belongs to another family."""
            own = type(self).__name__
            if name in INTERNAL:
                self._check_open()
            sentence = f"'{own}' object has no attribute '{name}'"
            if is_method_of_another(name):
                does = ", ".join(f"{each}()" for each in self._does)
                sentence = f"{own} has no {name}(). It is {self._what}; it has {does}."
            raise AttributeError(sentence, name=name, obj=self)

    # Showing -------------------------------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        """Only what a user needs."""
        return sorted(
            name for name in super().__dir__() if not name.startswith("_") and name not in FOR_FAMILIES
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'closed' if '_closed' in vars(self) else self._summary()})"

    def _summary(self) -> str:
        """What is between the brackets of `repr`."""
        return f"{self._network.parameters:,} parameters"

    def _repr_html_(self) -> str:
        """A table of `info()`, for notebooks."""
        if "_closed" in vars(self):
            return html.escape(repr(self))
        rows = "".join(
            f"<tr><th style='text-align: left'>{html.escape(name)}</th>"
            f"<td style='text-align: left'>{html.escape(value)}</td></tr>"
            for name, value in self.info().items()
        )
        return f"<table><caption>{html.escape(type(self).__name__)}</caption>{rows}</table>"
