"""Download models from Hugging Face's hub, or find them in its cache."""

import re
from fnmatch import fnmatch
from pathlib import Path

from qkv.errors import MissingExtraError, ModelError
from qkv.hub.folder import pickle_refusal

NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)?")
WANTED = ["*.json", "*.safetensors", "*.spm", "vocab.txt", "merges.txt"]
PICKLES = "pytorch_model*.bin"


def folder_of(model: str, *, revision: str | None = None, allow_pickle: bool = False) -> Path:
    """The folder itself, or the folder of the downloaded model of this name."""
    if Path(model).is_dir():
        return Path(model)
    if Path(model).is_file():
        raise ModelError(f"{model} is a file: give the folder of the model, or an .argosmodel package.")
    if not NAME.fullmatch(model) or model.startswith("."):
        raise ModelError(f"there is no folder {model}, and this is not the name of a model on the hub.")
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        what = f"there is no folder {model}, and a download from the hub"
        raise MissingExtraError(what, package="huggingface_hub", extra="hub") from None
    patterns = [*WANTED, PICKLES] if allow_pickle else WANTED
    try:
        folder = Path(huggingface_hub.snapshot_download(model, revision=revision, allow_patterns=patterns))
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise ModelError(
            f"the hub cannot be reached, and {model} is not in its cache. Check the network, or "
            "give a folder."
        ) from None
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        what = (
            "no such revision of it" if isinstance(error, errors.RevisionNotFoundError) else "no such model"
        )
        raise ModelError(
            f"there is no folder {model}, and the hub has {what}. If it is private or gated, log in with `hf auth login`."
        ) from None
    except Exception as error:  # a server may fail in any way
        reason = (str(error).strip().splitlines() or [""])[0]
        raise ModelError(
            f"{model} could not be downloaded ({type(error).__name__}: {reason}). Try again later."
        ) from None
    if (
        not allow_pickle
        and not any(folder.glob("*.safetensors"))
        and any(fnmatch(name, PICKLES) for name in published_files(model, revision))
    ):
        raise pickle_refusal(model)
    return folder


def published_files(model: str, revision: str | None) -> list[str]:
    """The names of all files of the model on the hub; none if the hub cannot be reached."""
    import huggingface_hub

    try:
        return huggingface_hub.list_repo_files(model, revision=revision)
    except Exception:  # use what is in the cache
        return []
