"""`qkv train codebook`: train the image codes that DALL-E draws with."""

from qkv.families.dalle.inputs import PlainPictures
from qkv.families.dalle.recipes import CODEBOOK_RECIPES
from qkv.families.dalle.settings import CodebookSettings
from qkv.training.trainable import Trainable, always

PICTURES = Trainable(
    name="codebook",
    summary="Train a codebook on images, for example\n"
    "  qkv train codebook --scenes 20000 --output runs/codes",
    inputs=PlainPictures,
    settings=CodebookSettings,
    recipes=always(CODEBOOK_RECIPES),
    nominal=20_000,
    unit="images",
    task="qkv.families.dalle.codebook_task:codebook_task",
    starts_with=frozenset(("images", "scenes")),
    usage="train dalle --codebook {out} …",
)
TRAINABLES = (PICTURES,)
