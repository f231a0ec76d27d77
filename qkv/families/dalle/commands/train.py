"""`qkv train dalle`: train a model that draws what a caption says."""

from qkv.families.dalle.inputs import CaptionedPictures
from qkv.families.dalle.recipes import DALLE_RECIPES
from qkv.families.dalle.settings import DalleSettings
from qkv.training.trainable import Trainable, always

CAPTIONS = Trainable(
    name="dalle",
    summary="Train a model that draws what a caption says, for example\n"
    "  qkv train codebook --scenes 20000 --output runs/codes\n"
    "  qkv train dalle --scenes 60000 --codebook runs/codes --output runs/scenes",
    inputs=CaptionedPictures,
    settings=DalleSettings,
    recipes=always(DALLE_RECIPES),
    nominal=60_000,
    unit="images",
    task="qkv.families.dalle.task:dalle_task",
    starts_with=frozenset(("images", "scenes")),
    usage='draw {out} "…" -o image.png',
)
TRAINABLES = (CAPTIONS,)
