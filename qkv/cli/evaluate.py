"""`qkv evaluate`: temporary."""

from qkv.families.translator.commands.evaluate import main as main
