"""Image files: what is read, what is resized or converted, and an error message for everything else."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from picture_files import saved
from PIL import Image, ImageOps

from qkv.data import images
from qkv.data.images import Form, find_images, read_picture
from qkv.errors import QkvError

GREY, COLOUR = Form(6, 8, "grey"), Form(6, 8, "colour")


def test_an_image_is_read_unchanged(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png")
    pixels = read_picture(path, COLOUR)
    assert pixels.shape == (3, 6, 8)
    assert np.array_equal(pixels.transpose(1, 2, 0), np.asarray(Image.open(path)))
    grey = saved(tmp_path / "b.png", "L")
    assert np.array_equal(read_picture(grey, GREY)[0], np.asarray(Image.open(grey)))


@pytest.mark.parametrize("mode", ["1", "P"])
def test_equivalent_image_modes_are_read(tmp_path: Path, mode: str) -> None:
    path = saved(tmp_path / "a.png", mode)
    form = GREY if mode == "1" else COLOUR
    wanted = np.asarray(Image.open(path).convert("L" if mode == "1" else "RGB"))
    assert np.array_equal(read_picture(path, form).transpose(1, 2, 0).squeeze(), wanted)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "CMYK", "I;16", "L"])
def test_another_mode_is_rejected_or_made_to_fit(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.png" if mode != "CMYK" else "a.tiff")
    if mode == "I;16":
        Image.fromarray(np.full((6, 8), 40_000, dtype=np.uint16)).save(path)
    else:
        saved(path, mode)
    with pytest.raises(QkvError, match=r"has the mode .* fit images to the model"):
        read_picture(path, COLOUR)
    assert read_picture(path, COLOUR, fit=True).shape == (3, 6, 8)


def test_sixteen_bits_become_eight_and_what_is_transparent_becomes_white(tmp_path: Path) -> None:
    Image.fromarray(np.full((6, 8), 65_535, dtype=np.uint16)).save(tmp_path / "deep.png")
    Image.new("RGBA", (8, 6), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (read_picture(tmp_path / "deep.png", GREY, fit=True) == 255).all()
    assert (read_picture(tmp_path / "clear.png", COLOUR, fit=True) == 255).all()


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize("fit", [True, False])
def test_numbers_of_32_bits_are_rejected_and_not_made_black(tmp_path: Path, kind: type, fit: bool) -> None:
    Image.fromarray(np.ones((6, 8), dtype=kind)).save(tmp_path / "a.tiff")
    with pytest.raises(QkvError, match=r"32 bits per pixel \(mode [FI]\).* save it with 8 or 16"):
        read_picture(tmp_path / "a.tiff", GREY, fit=fit)
    with pytest.raises(QkvError, match="32 bits"):
        images.choose_form(tmp_path / "a.tiff", 8, None)


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
    form = images.choose_form(path, None, None)
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


def test_another_size_is_rejected_or_cut_around_its_middle(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    values = np.zeros((12, 40, 3), dtype=np.uint8)
    values[:, 4:36] = 200  # what is kept is 12 to 28, mixed from a little more
    Image.fromarray(values).save(path)
    with pytest.raises(QkvError, match=r"is 40 × 12 pixels instead of 8 × 6"):
        read_picture(path, COLOUR)
    assert (read_picture(path, COLOUR, fit=True) == 200).all()


def test_a_file_that_is_truncated_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", size=(200, 200))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(QkvError, match=r"a\.png is damaged or truncated"):
        read_picture(path, Form(200, 200, "colour"))


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"no picture at all", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_file_that_is_not_an_image_is_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(QkvError, match=r"a\.png (cannot be read as an image|is damaged)"):
        read_picture(tmp_path / "a.png", COLOUR)


def test_an_animated_picture_is_rejected(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "green", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    with pytest.raises(QkvError, match=r"animated or has several pages \(3\)"):
        read_picture(tmp_path / "a.gif", COLOUR, fit=True)


@pytest.mark.parametrize(("width", "height"), [(10_000, 6_000), (20_000, 5_000), (100_000, 100_000)])
def test_a_huge_picture_is_rejected_by_its_header(tmp_path: Path, width: int, height: int) -> None:
    """The file is a header that promises so many pixels, and nothing else: reading on would be seen as damage."""
    path = saved(tmp_path / "a.png")
    content = bytearray(path.read_bytes())
    content[16:24] = struct.pack(">II", width, height)
    content[29:33] = struct.pack(">I", zlib.crc32(bytes(content[12:29])))
    path.write_bytes(bytes(content))
    with pytest.raises(QkvError, match=r"(pixels|too large).*up to 50 million pixels"):
        read_picture(path, COLOUR, fit=True)


def test_hidden_files_are_not_read_as_images(tmp_path: Path) -> None:
    """Notebooks and other systems leave copies of what is there; they would be on both sides of a split."""
    wanted = [saved(tmp_path / "a.png"), saved(tmp_path / "more" / "b.PNG")]
    saved(tmp_path / ".checkpoints" / "a-copy.png")
    saved(tmp_path / "more" / "._b.png")
    assert find_images(tmp_path) == wanted


def test_big_endian_grey_of_16_bits_is_grey(tmp_path: Path) -> None:
    Image.fromarray(np.full((6, 8), 65_535, dtype=">u2")).save(tmp_path / "a.tiff")
    with Image.open(tmp_path / "a.tiff") as picture:
        assert picture.mode == "I;16B"
    assert images.choose_form(tmp_path / "a.tiff", 8, None).colours == "grey"
    assert (read_picture(tmp_path / "a.tiff", GREY, fit=True) == 255).all()
