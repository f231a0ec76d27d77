"""Translate all files of a folder into another folder: what can be translated, and copies of the rest."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from qkv.checkpoint.files import copy_file, make_folders, write_json
from qkv.documents import CATALOGS, extension_of
from qkv.documents.detection import HEAD, has_format
from qkv.documents.plural_forms import categories
from qkv.errors import DataError, QkvError
from qkv.families.translator.files.languages import OtherLanguageError
from qkv.flags import OptionMessageError

SUMMARY = "translation-summary.json"
LANGUAGE = r"[a-z]{2,3}(?:[-_](?:r?[A-Z]{2}|[A-Z][a-z]{3}))?"
NAMED = re.compile(rf"(?P<before>(?:.*[._-])?)(?P<language>{LANGUAGE})(?P<after>(?:\.[A-Za-z0-9]+)*)")
EXTENSIONS = frozenset(f".{each}" for each in {*CATALOGS, "lproj", "txt"} - {"po", "pot", "ts", "xlf"})
"""What follows the language in a name. Files with both languages keep their names, so that they keep their translations."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""Where no file can be written any more, the job ends."""
Translate = Callable[[Path, Path], None]


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """A file of the folder, and what becomes of it."""

    source: str
    output: str
    done: str = ""
    """translated, copied, kept (the output was there), skipped or failed."""
    reason: str = ""


def translate_folder(
    source: Path,
    output: Path,
    languages: tuple[str | None, str | None],
    translate: Translate,
    *,
    overwrite: bool,
) -> list[FolderFile]:
    """Translate every file. One that fails does not stop the others.

    Raises:
        DataError: Files failed; the others are complete.
    """
    check_folders(source, output)
    files = planned(list(relative_files(source)), *languages)
    found = []
    for each in files:
        found.append(done(each, source, output, translate, overwrite=overwrite))
    make_folders(output)
    write_json(output / SUMMARY, [asdict(each) for each in found])
    failed = [each for each in found if each.done == "failed"]
    if failed:
        more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        raise DataError(
            f"{len(failed):,} of {len(found):,} files failed: {failed[0].reason} ({failed[0].source}{more}). The others are "
            f"done; see {output / SUMMARY}."
        )
    return found


def check_folders(source: Path, output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise OptionMessageError("{output} {path} is a file: give a folder.", path=output)
    inside, outer = output.resolve(), source.resolve()
    if inside == outer or outer in inside.parents:
        raise OptionMessageError("{output} {path} is inside the input: give another folder.", path=output)


def relative_files(folder: Path) -> Iterator[Path]:
    """Files in order, without hidden folders such as .git. Links are not followed."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir() and not path.name.startswith("."):
            yield from (Path(path.name) / each for each in relative_files(path))
        elif path.is_file():
            yield Path(path.name)


def done(
    file: FolderFile, source: Path, output: Path, translate: Translate, *, overwrite: bool
) -> FolderFile:
    given, made = source / file.source, output / file.output
    if file.done:
        return file
    if made.exists() and not overwrite:
        return replace(file, done="kept")
    make_folders(made.parent)
    try:
        if is_translatable(given):
            try:
                translate(given, made)
                return replace(file, done="translated")
            except OtherLanguageError as error:
                file = replace(file, reason=str(error))
        copy_file(given, made)
        return replace(file, done="copied")
    except QkvError as error:
        return replace(file, done="failed", reason=str(error))
    except OSError as error:
        if error.errno in FULL:
            raise
        return replace(file, done="failed", reason=f"{error.filename or given}: {error.strerror}.")


def is_translatable(path: Path) -> bool:
    extension = extension_of(path.name)
    if extension not in CATALOGS:
        return extension == "txt"
    with open(path, "rb") as file:
        return has_format(extension, file.read(HEAD))


# Names -----------------------------------------------------------------------------------------------


def planned(paths: Sequence[Path], source: str | None, target: str | None) -> list[FolderFile]:
    """The output name of each file. A file in another language is no source: its counterpart in the source language is there."""
    known = set(paths)
    outputs = {path: path if has_catalog(path, known) else renamed(path, source, target) for path in paths}
    plainest: dict[Path, Path] = {}  # of en.yml and en_US.yml, which both become de.yml, the first
    for path in sorted(outputs, key=lambda path: (len(path.as_posix()), path)):
        if outputs[path] != path:
            plainest.setdefault(outputs[path], path)
    files = []
    for path, output in outputs.items():
        file = FolderFile(source=path.as_posix(), output=output.as_posix())
        if has_catalog(path, known):
            files.append(replace(file, done="skipped", reason="its catalog is there"))
        elif output in plainest and path != plainest[output]:
            files.append(
                replace(file, done="skipped", reason="the translation of another file has this name")
            )
        elif output == path and source and any(each in known for each in counterparts(path, source)):
            files.append(replace(file, done="skipped", reason="it is in another language"))
        else:
            files.append(file)
    return files


def has_catalog(path: Path, known: Set[Path]) -> bool:
    """Whether a template is there with its catalog, which may have translations."""
    return path.suffix == ".pot" and path.with_suffix(".po") in known


def renamed(path: Path, source: str | None, target: str | None) -> Path:
    """The path with the target language in place of the source language: en.yml, app_en.arb, en.lproj, values."""
    if not source or not target:
        return with_suffix_of_catalog(path)
    parts = [renamed_part(part, source, target) for part in path.parts]
    if path.suffix == ".xml":
        folders = [f"values-{android_name(target)}" if part == "values" else part for part in parts[:-1]]
        parts = [*folders, parts[-1]]
    return with_suffix_of_catalog(Path(*parts))


def renamed_part(part: str, source: str, target: str) -> str:
    found = named(part)
    if found is None or re.split("[-_]", found["language"])[0] != re.split("[-_]", source)[0].lower():
        return part
    return with_language(part, found, target)


def named(part: str) -> re.Match[str] | None:
    """The language in a name. The extension is none, although yml and po look like one."""
    return NAMED.fullmatch(without_extension(part))


def without_extension(part: str) -> str:
    path = PurePath(part)
    return path.stem if path.suffix.lower() in EXTENSIONS else part


def with_language(part: str, found: re.Match[str], language: str) -> str:
    return f"{found['before']}{language}{found['after']}{part.removeprefix(without_extension(part))}"


def android_name(language: str) -> str:
    name, _, region = language.replace("_", "-").partition("-")
    return f"{name}-r{region.upper()}" if region else name


def with_suffix_of_catalog(path: Path) -> Path:
    """A template becomes a catalog."""
    return path.with_suffix(".po") if path.suffix == ".pot" else path


def counterparts(path: PurePath, source: str) -> Iterable[Path]:
    """The same path in the source language."""
    for place, part in enumerate(path.parts):
        found = named(part)
        if found and is_language(found["language"]):
            name = with_language(part, found, source)
            yield Path(*path.parts[:place], name, *path.parts[place + 1 :])
        if part.startswith("values-") and is_language(part.removeprefix("values-").removeprefix("b+")):
            yield Path(*path.parts[:place], "values", *path.parts[place + 1 :])


def is_language(code: str) -> bool:
    """Whether it is a language and not another short word, such as app or night."""
    return bool(categories(code.replace("+", "-")))


def say_summary(files: Sequence[FolderFile], output: Path) -> None:
    from qkv.progress.terminal import say

    counts: dict[str, Any] = {}
    for each in files:
        counts[each.done] = counts.get(each.done, 0) + 1
    said = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
    say(f"{len(files):,} files: {said or 'nothing'}. See {output / SUMMARY}.")
