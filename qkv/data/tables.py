"""Rows of Parquet and Arrow files, read in small batches. This needs the extra `corpus`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qkv.data.lines import empty_file
from qkv.errors import DataError, MissingExtraError

TABLES_OF_ROWS = frozenset((".parquet", ".arrow"))
ROWS_AT_ONCE = 4_096


def read_rows(path: Path, *choices: Sequence[str] | str) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries. Of the choices, the first columns that the file has are read; all columns if it has none."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise MissingExtraError(f"reading {path.name}", package="pyarrow", extra="corpus") from None
    empty = True
    try:
        if path.suffix.lower() == ".parquet":
            with parquet.ParquetFile(path) as file:
                columns = columns_of(file.schema_arrow.names, choices)
                for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
                    empty = empty and batch.num_rows == 0
                    yield from batch.to_pylist()
        else:
            for batch in arrow_batches(path, pyarrow, ipc):
                columns = columns_of(batch.schema.names, choices)
                chosen = batch if columns is None else batch.select(columns)
                for start in range(0, chosen.num_rows, ROWS_AT_ONCE):
                    empty = False
                    yield from chosen.slice(start, ROWS_AT_ONCE).to_pylist()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}: check the name and the folder.") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is damaged, or not a table of its format ({str(error)[:100]}).") from None
    if empty:
        raise empty_file(path)


def arrow_batches(path: Path, pyarrow: Any, ipc: Any) -> Iterator[Any]:
    """Both formats of Arrow: files, and streams as Hugging Face's `datasets` writes them."""
    with pyarrow.memory_map(str(path)) as source:
        try:
            file = ipc.open_file(source)
        except pyarrow.ArrowInvalid:
            source.seek(0)
            yield from ipc.open_stream(source)
            return
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def columns_of(names: Sequence[str], choices: Sequence[Sequence[str] | str]) -> list[str] | None:
    for choice in choices:
        wanted = [choice] if isinstance(choice, str) else list(choice)
        if set(wanted) <= set(names):
            return wanted
    return None
