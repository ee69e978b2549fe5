"""Pictures in a folder for each class."""

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")


def write_classes(folder, classes, side, suffix, per_class, grey=()):
    """Pictures of one colour that says class and number."""
    for c, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for i in range(per_class):
            colour = np.full((side, side, 3), (16 * c, 16 * i, 128), np.uint8)
            picture = Image.fromarray(colour)
            if (c, i) in grey:
                picture = picture.convert("L")
            picture.save(folder / name / f"{name}_{i}{suffix}")
        (folder / name / "Thumbs.db").write_text("")
