"""Pictures that people have: what is read, what is made to fit, and a sentence for everything else."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from qkv.data import images
from qkv.data.images import Form, read_idx, read_image_folder, read_images_for, read_picture
from qkv.errors import UserError

GREY, COLOUR = Form(6, 8, "grey"), Form(6, 8, "colour")


def saved(path: Path, mode: str = "RGB", size: tuple[int, int] = (8, 6), seed: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(values).convert(mode).save(path)
    return path


def write_idx(path: Path, values: np.ndarray) -> None:  # type: ignore[type-arg]
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    content = head + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def test_a_picture_comes_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png")
    pixels = read_picture(path, COLOUR)
    assert pixels.shape == (3, 6, 8)
    assert np.array_equal(pixels.transpose(1, 2, 0), np.asarray(Image.open(path)))
    grey = saved(tmp_path / "b.png", "L")
    assert np.array_equal(read_picture(grey, GREY)[0], np.asarray(Image.open(grey)))


@pytest.mark.parametrize("mode", ["1", "P"])
def test_modes_that_say_the_same_in_other_words_are_read(tmp_path: Path, mode: str) -> None:
    path = saved(tmp_path / "a.png", mode)
    form = GREY if mode == "1" else COLOUR
    wanted = np.asarray(Image.open(path).convert("L" if mode == "1" else "RGB"))
    assert np.array_equal(read_picture(path, form).transpose(1, 2, 0).squeeze(), wanted)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "CMYK", "I;16", "L"])
def test_another_mode_is_refused_or_made_to_fit(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.png" if mode != "CMYK" else "a.tiff")
    if mode == "I;16":
        Image.fromarray(np.full((6, 8), 40_000, dtype=np.uint16)).save(path)
    else:
        saved(path, mode)
    with pytest.raises(UserError, match=r"has the mode .* --fit"):
        read_picture(path, COLOUR)
    assert read_picture(path, COLOUR, fit=True).shape == (3, 6, 8)


def test_sixteen_bits_become_eight_and_what_is_transparent_becomes_white(tmp_path: Path) -> None:
    Image.fromarray(np.full((6, 8), 65_535, dtype=np.uint16)).save(tmp_path / "deep.png")
    Image.new("RGBA", (8, 6), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (read_picture(tmp_path / "deep.png", GREY, fit=True) == 255).all()
    assert (read_picture(tmp_path / "clear.png", COLOUR, fit=True) == 255).all()


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize("fit", [True, False])
def test_numbers_of_32_bits_are_refused_and_not_made_black(tmp_path: Path, kind: type, fit: bool) -> None:
    Image.fromarray(np.ones((6, 8), dtype=kind)).save(tmp_path / "a.tiff")
    with pytest.raises(UserError, match=r"32 bits \(mode [FI]\).* save it with 8 or 16"):
        read_picture(tmp_path / "a.tiff", GREY, fit=fit)
    with pytest.raises(UserError, match="32 bits"):
        images.form_for(tmp_path / "a.tiff", 8, None)


def test_sixteen_bits_of_a_pgm_become_eight(tmp_path: Path) -> None:
    """Pillow's mode of it is that of 32 bits."""
    values = np.full((6, 8), 65_535, dtype=">u2")
    (tmp_path / "a.pgm").write_bytes(b"P5 8 6 65535\n" + values.tobytes())
    assert (read_picture(tmp_path / "a.pgm", GREY, fit=True) == 255).all()


@pytest.mark.parametrize("ending", ["png", "jpg", "tiff", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_as_the_camera_was_held(tmp_path: Path, ending: str, orientation: int) -> None:
    values = np.zeros((16, 32, 3), dtype=np.uint8)
    values[:8, :16] = 250
    path, tags = tmp_path / f"a.{ending}", Image.Exif()
    tags[0x0112] = orientation
    Image.fromarray(values).save(path, exif=tags)
    with Image.open(path) as picture:
        wanted = np.asarray(ImageOps.exif_transpose(picture).convert("RGB")).transpose(2, 0, 1)
    form = images.form_for(path, None, None)
    assert (form.height, form.width) == ((16, 32) if orientation < 5 else (32, 16))
    assert np.array_equal(read_picture(path, form), wanted)
    fitted = read_picture(path, Form(form.height // 2, form.width // 2, "colour"), fit=True)
    bright = [(fitted[0] > 125)[down, across] for down in (2, -3) for across in (2, -3)]
    assert bright == [(wanted[0] > 125)[down, across] for down in (2, -3) for across in (2, -3)]


def test_tags_that_cannot_be_read_turn_nothing(tmp_path: Path) -> None:
    saved(tmp_path / "a.jpg")
    Image.open(tmp_path / "a.jpg").save(tmp_path / "b.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff broken")
    assert read_picture(tmp_path / "b.jpg", COLOUR).shape == (3, 6, 8)


def test_of_a_phone_s_jpeg_with_a_second_view_the_first_is_read(tmp_path: Path) -> None:
    first, second = (Image.new("RGB", (8, 6), colour) for colour in ("white", "black"))
    first.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[second])
    with Image.open(tmp_path / "a.jpg") as picture:
        assert (picture.format, picture.n_frames) == ("MPO", 2)  # type: ignore[attr-defined]
    assert (read_picture(tmp_path / "a.jpg", COLOUR) > 250).all()


def test_another_size_is_refused_or_cut_around_its_middle(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    values = np.zeros((12, 40, 3), dtype=np.uint8)
    values[:, 4:36] = 200  # what is kept is 12 to 28, mixed from a little more
    Image.fromarray(values).save(path)
    with pytest.raises(UserError, match=r"is 40 × 12 pixels large and not 8 × 6"):
        read_picture(path, COLOUR)
    assert (read_picture(path, COLOUR, fit=True) == 200).all()


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", size=(200, 200))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UserError, match=r"a\.png is damaged or cut off"):
        read_picture(path, Form(200, 200, "colour"))


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"no picture at all", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_what_is_no_picture_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.png (cannot be read as a picture|is damaged)"):
        read_picture(tmp_path / "a.png", COLOUR)


def test_an_animated_picture_is_refused(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "green", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    with pytest.raises(UserError, match=r"animated or has several pages \(3\)"):
        read_picture(tmp_path / "a.gif", COLOUR, fit=True)


@pytest.mark.parametrize(("width", "height"), [(10_000, 6_000), (20_000, 5_000), (100_000, 100_000)])
def test_a_huge_picture_is_refused_by_its_header(tmp_path: Path, width: int, height: int) -> None:
    """The file is a header that promises so many pixels, and nothing else: reading on would be seen as damage."""
    path = saved(tmp_path / "a.png")
    content = bytearray(path.read_bytes())
    content[16:24] = struct.pack(">II", width, height)
    content[29:33] = struct.pack(">I", zlib.crc32(bytes(content[12:29])))
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=r"huge picture.*up to 50 million pixels"):
        read_picture(path, COLOUR, fit=True)


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
    with pytest.raises(UserError, match="mode L and not RGB"):
        read_image_folder(tmp_path)
    assert read_image_folder(tmp_path, size=5).train.pictures.shape == (2, 3, 5, 5)
    assert read_image_folder(tmp_path, size=5, colours="grey").train.pictures.shape == (2, 1, 5, 5)


def test_one_class_an_empty_class_and_no_class_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no class"):
        read_image_folder(tmp_path)
    saved(tmp_path / "cat" / "a.png")
    with pytest.raises(UserError, match="holds one class"):
        read_image_folder(tmp_path)
    (tmp_path / "dog").mkdir()
    with pytest.raises(UserError, match=r"no picture in .*dog"):
        read_image_folder(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        read_image_folder(tmp_path / "nowhere")


def test_a_class_that_training_does_not_know_is_refused(tmp_path: Path) -> None:
    for name in ("train/cat", "train/dog", "test/cow"):
        saved(tmp_path / name / "a.png")
    with pytest.raises(UserError, match="classes that the training part has not: cow"):
        read_image_folder(tmp_path)


def test_more_than_fits_into_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 100)
    for name in ("cat", "dog"):
        saved(tmp_path / name / "a.png")
    with pytest.raises(UserError, match=r"need .* GB of memory"):
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
    with pytest.raises(UserError, match="stay as they are"):
        read_image_folder(tmp_path, size=28)


def test_a_damaged_idx_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    write_idx(path, np.zeros((2, 4, 5)))
    whole = path.read_bytes()
    for content, sentence in (
        (whole[:-1], "its length is not"),
        (whole + b"x", "its length is not"),
        (whole[:7], "is no idx file"),
        (b"\0\0\x0d" + whole[3:], "is no idx file"),
        (whole[:4] + b"\xff" * 12, "more than qkv reads"),
        (whole[:4] + struct.pack(">3I", 2, 0, 5), "a length of 0"),
        (whole[:4] + struct.pack(">3I", 0, 4, 5), "a length of 0"),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=sentence):
            read_idx(path, 3)
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(whole)[:-12])
    with pytest.raises(UserError, match="damaged or cut off"):
        read_idx(packed, 3)


def test_labels_must_be_there_and_as_many(tmp_path: Path) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 4, 5)))
    with pytest.raises(UserError, match="no file of labels"):
        read_image_folder(tmp_path)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([1, 2, 0]))
    with pytest.raises(UserError, match=r"2 pictures, but .* 3 labels"):
        read_image_folder(tmp_path)
    for only in (0, 7):
        write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([only, only]))
        with pytest.raises(UserError, match="one class"):
            read_image_folder(tmp_path)


def test_a_test_part_of_idx_files_may_have_one_class(tmp_path: Path) -> None:
    for part, labels in (("train", [0, 1]), ("t10k", [0, 0])):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", np.ones((2, 4, 5)))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", np.array(labels))
    test = read_image_folder(tmp_path).test
    assert test is not None
    assert test.labels.tolist() == [0, 0]


def test_pictures_for_a_model_come_in_its_form_or_are_refused(tmp_path: Path) -> None:
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
    with pytest.raises(UserError, match="11 × 9 pixels large and not 8 × 6: convert it, or give --fit where"):
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
    with pytest.raises(
        UserError, match="are 8 × 8 in grey, and those of the model 8 × 4 in colour: give --fit"
    ):
        read_images_for(tmp_path, wide, fit=False)
    assert read_images_for(tmp_path, Form(8, 8, "grey"), fit=False).train.form == Form(8, 8, "grey")
