"""Images with captions, and an error message for each fault."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qkv.data.captioned import read_captioned, read_plain, scene_pictures
from qkv.errors import QkvError

PIXELS = np.random.default_rng(1).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)


def folder_of(tmp_path: Path, lines: str) -> Path:
    for number, pixels in enumerate(PIXELS):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    (tmp_path / "captions.tsv").write_text(lines, encoding="utf-8")
    return tmp_path


def npz_of(tmp_path: Path, captions: object, **arrays: object) -> tuple[Path, Path]:
    np.savez(tmp_path / "a.npz", **(arrays or {"images": PIXELS}))
    (tmp_path / "a.json").write_text(json.dumps(captions), encoding="utf-8")
    return tmp_path / "a.npz", tmp_path / "a.json"


def test_a_folder_with_captions(tmp_path: Path) -> None:
    found = read_captioned(folder_of(tmp_path, "2.png\ta  red \u00f1andu\n0.png\tsky\n"), None, None)
    assert found.captions == [("a red \u00f1andu",), ("sky",)]
    assert np.array_equal(found.pictures[0].transpose(1, 2, 0), PIXELS[2])


def test_several_lines_with_one_file_name_are_captions_of_one_image(tmp_path: Path) -> None:
    """Else the same picture could be in the training part and among those that were held out."""
    found = read_captioned(folder_of(tmp_path, "2.png\tone\n0.png\tsky\n2.png\tanother\n"), None, None)
    assert found.captions == [("one", "another"), ("sky",)]
    assert len(found.pictures) == 2


@pytest.mark.parametrize(
    "captions", [["one", "two", "three"], [{"name": "one"}, {"caption": "two", "name": "x"}, "three"]]
)
def test_an_array_with_captions_in_json(tmp_path: Path, captions: object) -> None:
    found = read_captioned(*npz_of(tmp_path, captions), None)
    assert found.captions == [("one",), ("two",), ("three",)]
    assert np.array_equal(found.pictures[1].transpose(1, 2, 0), PIXELS[1])
    assert np.array_equal(read_plain(tmp_path / "a.npz", None), found.pictures)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("0.png\n", "line 1: write a file name, a tab and a caption"),
        ("0.png\t \n", "caption 1 is empty"),
        ("", "has no captions"),
        ("7.png\tseven\n", "there is no file"),
        ("0.png\t" + "x" * 2_000 + "\n", "more than 1,000"),
        ("0.png\t" + "x" * 200_000 + "\n", "more than 1,000"),
        ("x" * 200_000 + "\tone\n", "cannot be read"),
        ("0.png\tone\n\n0.png\n", "line 3: write a file name"),
    ],
)
def test_a_fault_in_captions_is_named(tmp_path: Path, lines: str, sentence: str) -> None:
    with pytest.raises(QkvError, match=sentence):
        read_captioned(folder_of(tmp_path, lines), None, None)


@pytest.mark.parametrize(
    ("captions", "arrays", "sentence"),
    [
        (["one"], {}, "3 images, but .* has 1 captions"),
        (["one", "two", 3], {}, "each entry must be a string"),
        ({"a": 1}, {}, "is not a list of captions"),
        (["one", "two", "\ud800"], {}, "caption 3 has half a character"),
        (["one"], {"pixels": PIXELS}, "no array called images"),
        (["one"], {"images": PIXELS.astype(float)}, "must be bytes of shape"),
        (["one"], {"images": PIXELS[:, :5]}, "must be bytes of shape"),
        (["one"], {"images": np.array([{"a": 1}], dtype=object)}, "cannot be read"),
    ],
)
def test_a_fault_in_an_array_is_named(
    tmp_path: Path, captions: object, arrays: dict[str, object], sentence: str
) -> None:
    with pytest.raises(QkvError, match=sentence):
        read_captioned(*npz_of(tmp_path, captions, **arrays), None)


def test_a_byte_order_mark_is_not_part_of_the_captions(tmp_path: Path) -> None:
    assert read_captioned(folder_of(tmp_path, "\ufeff0.png\tone\r\n"), None, None).captions == [("one",)]
    images, captions = npz_of(tmp_path, ["one", "two", "three"])
    captions.write_text("\ufeff" + captions.read_text())
    assert len(read_captioned(images, captions, None)) == 3


def with_byte(content: bytes, place: int, value: int) -> bytes:
    return content[:place] + bytes([value]) + content[place + 1 :]


@pytest.mark.parametrize("fault", ["flipped byte", "encrypted", "odd compression", "huge array"])
def test_a_broken_archive_is_named(tmp_path: Path, fault: str) -> None:
    images, captions = npz_of(tmp_path, ["one", "two", "three"])
    np.savez_compressed(images, images=PIXELS)
    content = images.read_bytes()
    directory = content.rindex(b"PK\1\2")
    if fault == "flipped byte":
        content = with_byte(content, 60, content[60] ^ 0xFF)
    elif fault == "encrypted":
        content = with_byte(with_byte(content, 6, 1), directory + 8, 1)
    elif fault == "odd compression":
        content = with_byte(with_byte(content, 8, 97), directory + 10, 97)
    else:
        array = io.BytesIO()
        np.save(array, PIXELS)
        claimed = array.getvalue().replace(b"(3, 8, 8, 3), }" + b" " * 9, b"(3, 8, 8, 99999999999)}", 1)
        with zipfile.ZipFile(images, "w") as archive:
            archive.writestr("images.npy", claimed)
        content = images.read_bytes()
    images.write_bytes(content)
    with pytest.raises(QkvError, match=r"cannot be read as an \.npz file of images"):
        read_captioned(images, captions, None)


def test_a_file_that_is_not_an_array_is_named(tmp_path: Path) -> None:
    images, captions = npz_of(tmp_path, ["one"])
    images.write_bytes(images.read_bytes()[:100])
    with pytest.raises(QkvError, match=r"cannot be read as an \.npz file"):
        read_captioned(images, captions, None)
    with pytest.raises(QkvError, match="give a file with its captions"):
        read_captioned(images, None, None)


def test_scenes_have_a_caption_in_each_language() -> None:
    found = scene_pictures("train", 5)
    assert found.pictures.shape == (5, 3, 32, 32)
    assert all(len(each) == 2 and each[0].startswith(("a ", "an ")) for each in found.captions)
    assert found.fingerprint() == scene_pictures("train", 5).fingerprint()
    assert found.fingerprint() != found.take([0, 1]).fingerprint()
