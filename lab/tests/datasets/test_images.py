"""Pictures of any size, and what reads them."""

import sys

import numpy as np
import pytest

from baserate_lab.datasets import _images

Image = pytest.importorskip("PIL.Image")


def test_a_picture_of_any_size_is_read_and_the_limit_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    Image.fromarray(np.full((8, 8, 3), 7, np.uint8)).save(tmp_path / "a.png")
    assert _images.read_image(tmp_path / "a.png").tolist() == np.full((8, 8, 3), 7).tolist()
    assert Image.MAX_IMAGE_PIXELS == 10


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF", "PPM"])
def test_a_picture_in_a_format_that_no_data_set_has(form, tmp_path):
    picture = Image.fromarray(np.zeros((8, 8, 3), np.uint8))
    picture.save(tmp_path / "a.png", format=form)
    with pytest.raises(OSError, match="cannot identify image file"):
        _images.read_image(tmp_path / "a.png")
    picture.save(tmp_path / "a.png", format="JPEG")
    assert _images.read_image(tmp_path / "a.png").shape == (8, 8, 3)


def test_without_the_library_the_way_to_install_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'baserate-lab'") as info:
        _images.read_image(tmp_path / "a.png")
    assert info.value.name == "PIL"
