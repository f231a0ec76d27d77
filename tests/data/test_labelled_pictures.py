"""Labelled images: which folders are parts and which are classes, and an error message for everything else."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from picture_files import saved, write_idx

from qkv.data import images
from qkv.data.images import Form, read_picture
from qkv.data.labelled_pictures import read_evaluation_images, read_idx, read_image_folder, read_images_for
from qkv.errors import QkvError

GREY, COLOUR = Form(6, 8, "grey"), Form(6, 8, "colour")


def test_classes_are_the_names_of_folders(tmp_path: Path) -> None:
    for name, count in (("dog", 2), ("cat", 3)):
        for number in range(count):
            saved(tmp_path / name / f"{number}.png", seed=number)
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    found = read_image_folder(tmp_path)
    assert found.train.classes == ("cat", "dog")
    assert found.train.labels.tolist() == [0, 0, 0, 1, 1]
    assert found.train.form == COLOUR
    assert (found.valid, found.test) == (None, None)


def test_parts_may_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    for part in ("train", "val", "test"):
        for name in ("cat", "dog"):
            saved(tmp_path / part / name / "a.png")
    found = read_image_folder(tmp_path)
    assert [len(part) for part in (found.train, found.valid, found.test) if part] == [2, 2, 2]


def test_pictures_of_several_sizes_are_made_to_fit_where_a_size_is_given(tmp_path: Path) -> None:
    saved(tmp_path / "cat" / "a.png", size=(8, 6))
    saved(tmp_path / "dog" / "a.png", "L", size=(31, 17))
    with pytest.raises(QkvError, match="mode L instead of RGB"):
        read_image_folder(tmp_path)
    assert read_image_folder(tmp_path, size=5).train.pictures.shape == (2, 3, 5, 5)
    assert read_image_folder(tmp_path, size=5, colours="grey").train.pictures.shape == (2, 1, 5, 5)


def test_one_class_an_empty_class_and_no_class_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(QkvError, match="no images in the folders of"):
        read_image_folder(tmp_path)
    saved(tmp_path / "cat" / "a.png")
    with pytest.raises(QkvError, match="has one class"):
        read_image_folder(tmp_path)
    (tmp_path / "dog").mkdir()
    with pytest.raises(QkvError, match=r"no images in .*dog"):
        read_image_folder(tmp_path)
    with pytest.raises(QkvError, match="is not a folder"):
        read_image_folder(tmp_path / "nowhere")


def test_a_class_that_training_does_not_know_is_rejected(tmp_path: Path) -> None:
    for name in ("train/cat", "train/dog", "test/cow"):
        saved(tmp_path / name / "a.png")
    with pytest.raises(QkvError, match="classes that the training part lacks: cow"):
        read_image_folder(tmp_path)


def test_more_than_fits_into_memory_is_rejected_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    for name in ("cat", "dog"):
        saved(tmp_path / name / "a.png")
    with pytest.raises(QkvError, match=r"need .* GB of memory"):
        read_image_folder(tmp_path)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_idx_files_are_read(tmp_path: Path, ending: str) -> None:
    pictures, labels = np.arange(2 * 4 * 5).reshape(2, 4, 5), np.array([2, 0])
    for part in ("train", "t10k"):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte{ending}", pictures)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte{ending}", labels)
    found = read_image_folder(tmp_path)
    assert np.array_equal(found.train.pictures[:, 0], pictures)
    assert found.train.labels.tolist() == [2, 0]
    assert found.train.classes == ("0", "1", "2")
    assert found.test is not None
    with pytest.raises(QkvError, match="cannot be resized or converted"):
        read_image_folder(tmp_path, size=28)


def test_a_damaged_idx_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    write_idx(path, np.zeros((2, 4, 5)))
    whole = path.read_bytes()
    for content, sentence in (
        (whole[:-1], "its length does not match"),
        (whole + b"x", "its length does not match"),
        (whole[:7], "is not an idx file"),
        (b"\0\0\x0d" + whole[3:], "is not an idx file"),
        (whole[:4] + b"\xff" * 12, "more than the 4 GB"),
        (whole[:4] + struct.pack(">3I", 2, 0, 5), "a length of 0"),
        (whole[:4] + struct.pack(">3I", 0, 4, 5), "a length of 0"),
    ):
        path.write_bytes(content)
        with pytest.raises(QkvError, match=sentence):
            read_idx(path, 3)
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(whole)[:-12])
    with pytest.raises(QkvError, match="damaged or truncated"):
        read_idx(packed, 3)


def test_labels_must_be_there_and_as_many(tmp_path: Path) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 4, 5)))
    with pytest.raises(QkvError, match="has no labels"):
        read_image_folder(tmp_path)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([1, 2, 0]))
    with pytest.raises(QkvError, match=r"2 images, but .* has 3 labels"):
        read_image_folder(tmp_path)
    for only in (0, 7):
        write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([only, only]))
        with pytest.raises(QkvError, match="one class"):
            read_image_folder(tmp_path)


def test_a_test_part_of_idx_files_may_have_one_class(tmp_path: Path) -> None:
    for part, labels in (("train", [0, 1]), ("t10k", [0, 0])):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", np.ones((2, 4, 5)))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", np.array(labels))
    test = read_image_folder(tmp_path).test
    assert test is not None
    assert test.labels.tolist() == [0, 0]


def test_pictures_for_a_model_come_in_its_form_or_are_rejected(tmp_path: Path) -> None:
    for part in ("train", "test"):
        for name in ("cat", "dog"):
            saved(tmp_path / part / name / "a.png", size=(11, 9))
    found = read_images_for(tmp_path, GREY, fit=True)
    assert found.train.form == GREY
    assert found.test is not None
    assert found.test.form == GREY
    assert np.array_equal(
        found.train.pictures[0], read_picture(tmp_path / "train" / "cat" / "a.png", GREY, fit=True)
    )
    with pytest.raises(QkvError, match="11 × 9 pixels instead of 8 × 6: convert it, fit images to the model"):
        read_images_for(tmp_path, COLOUR, fit=False)


def test_idx_files_are_brought_to_the_form_of_a_model_where_that_is_allowed(tmp_path: Path) -> None:
    pictures = np.zeros((4, 8, 8), dtype=np.uint8)
    pictures[:, :4] = 200  # bright above
    write_idx(tmp_path / "train-images-idx3-ubyte", pictures)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.arange(4) % 2)
    wide = Form(4, 8, "colour")
    found = read_images_for(tmp_path, wide, fit=True).train
    assert found.form == wide
    assert found.labels.tolist() == [0, 1, 0, 1]
    assert (found.pictures[0, :, 0] > 150).all()
    assert (found.pictures[0, :, -1] < 50).all()
    with pytest.raises(QkvError, match="are 8 × 8 in grey, but the model needs 8 × 4 in colour: fit them"):
        read_images_for(tmp_path, wide, fit=False)
    assert read_images_for(tmp_path, Form(8, 8, "grey"), fit=False).train.form == Form(8, 8, "grey")


def in_classes(folder: Path, *names: str) -> None:
    for name in names:
        saved(folder / name / "a.png")


def test_parts_are_known_by_their_names_in_capitals_too(tmp_path: Path) -> None:
    """Taken for classes, a model would learn to tell Train from Test."""
    in_classes(tmp_path, "Train/cat", "Train/dog", "TEST/cat", "TEST/dog", "Validation/dog")
    found = read_image_folder(tmp_path)
    assert found.train.classes == ("cat", "dog")
    assert [len(part) for part in (found.train, found.valid, found.test) if part] == [2, 1, 2]


def test_parts_without_a_training_part_are_rejected(tmp_path: Path) -> None:
    in_classes(tmp_path, "val/cat", "val/dog", "test/cat", "test/dog")
    with pytest.raises(
        QkvError, match=r"has val and test but no train: put the training images into .*train"
    ):
        read_image_folder(tmp_path)


def test_a_picture_beside_the_classes_of_a_part_is_passed_over(tmp_path: Path) -> None:
    in_classes(tmp_path, "train/cat", "train/dog", "val/cat")
    for part in ("train", "val"):
        saved(tmp_path / part / "preview.png")
    found = read_image_folder(tmp_path)
    assert found.train.classes == ("cat", "dog")
    assert found.train.labels.tolist() == [0, 1]


def test_idx_files_of_any_name_stay_as_they_are(tmp_path: Path) -> None:
    write_idx(tmp_path / "training-images-idx3-ubyte", np.ones((2, 6, 6)))
    write_idx(tmp_path / "training-labels-idx1-ubyte", np.array([0, 1]))
    with pytest.raises(QkvError, match="cannot be resized or converted"):
        read_image_folder(tmp_path, size=28)


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    in_classes(tmp_path, "car", "plane", "train")
    assert read_image_folder(tmp_path).train.classes == ("car", "plane", "train")


def test_evaluation_needs_no_training_part_and_one_class_is_enough(tmp_path: Path) -> None:
    known = ("cow", "cat", "dog")
    in_classes(tmp_path / "parts", "test/dog", "val/cat")
    name, part = read_evaluation_images(tmp_path / "parts", COLOUR, known)
    assert (name, part.labels.tolist()) == ("test", [2])
    in_classes(tmp_path / "one", "cat")
    (tmp_path / "one" / "cow").mkdir()  # of which there are none
    name, part = read_evaluation_images(tmp_path / "one", GREY, known)
    assert (name, part.labels.tolist(), part.form) == ("all", [1], GREY)
    write_idx(tmp_path / "t10k-images-idx3-ubyte", np.ones((2, 6, 8)))
    write_idx(tmp_path / "t10k-labels-idx1-ubyte", np.array([1, 1]))
    name, part = read_evaluation_images(tmp_path, COLOUR, ("1", "0"))
    assert (name, part.labels.tolist(), part.form) == ("test", [0, 0], COLOUR)


def test_evaluation_images_must_have_classes_of_the_model(tmp_path: Path) -> None:
    in_classes(tmp_path, "cat", "cow")
    with pytest.raises(QkvError, match="the model has no class 'cow'"):
        read_evaluation_images(tmp_path, COLOUR, ("cat", "dog"))
