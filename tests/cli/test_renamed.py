"""Every flag of version 0.1 works, or gives an error that names the new flag."""

import pytest
from commands import code_of, refused

from qkv.cli.renamed import COMMANDS, TRAINING

RUN = """
    --out --recipe --resume --tensorboard --steps --minutes --seed --training.batch-tokens --training.rate
    --training.warmup --training.optimiser --training.schedule --training.betas --training.epsilon
    --training.weight-decay --training.clip --training.validate-every --training.average --training.keep
    --training.patience --training.processes --training.accumulate --training.precision --training.sharded
    --training.log-every --training.milestones """
PAIRS = """
    --data --source --target --pairs --valid-source --valid-target --valid-pairs --source-language --target-language
    --data.longest --data.ratio --data.valid --data.subword-dropout --data.languages --data.variant
    --scoring.tokenize --scoring.lowercase """
BLOCK = """
    --model.depth --model.width --model.heads --model.hidden --model.dropout --model.attention-dropout
    --model.activation """
AUGMENT = """
    --augment.crop --augment.flip --augment.operations --augment.magnitude --augment.no-colours --augment.erase """
OLD_FLAGS = {
    "demo": "--out --source-language --target-language --seed",
    "train translator": f"""{RUN} {PAIRS}
        --vocabulary --model --model.kind --model.width --model.encoder-depth --model.decoder-depth --model.heads
        --model.hidden --model.dropout --model.attention-dropout --model.norm --model.activation --model.positions
        --model.context --model.smoothing --decoding.beam --decoding.length-penalty""",
    "train translator --fine-tune x": f"{RUN} {PAIRS} --epochs --dropout --smoothing --language",
    "train gpt": f"""{RUN} {BLOCK}
        --text --valid-text --pieces --vocabulary --model.context --model.norm --model.positions --data.valid
        --data.most-valid""",
    "train gpt --music x": f"{RUN} {BLOCK} --transpose --model.context --model.norm --model.positions",
    "train gpt --fine-tune x --text x": f"{RUN} --valid-text --epochs --dropout --data.valid --data.most-valid",
    "train gpt --fine-tune x --music x": f"{RUN} --epochs --dropout --transpose",
    "train gpt --fine-tune x --labels x": f"""{RUN}
        --valid-labels --columns --epochs --auxiliary --form --no-pretrained --dropout --valid""",
    "train bert": f"""{RUN} {BLOCK}
        --text --valid-text --vocabulary --cased --no-next-sentence --model.context --model.norm --masking.share
        --masking.masked --masking.other --masking.whole-words --data.valid""",
    "train bert --fine-tune x": f"""{RUN}
        --labels --valid-labels --columns --valid-columns --epochs --task --no-pretrained --dropout --valid""",
    "train vit": f"""{RUN} {BLOCK} {AUGMENT}
        --images --scenes --size --colours --data.valid --model.smoothing --model.patch""",
    "train vit --fine-tune x": f"{RUN} {AUGMENT} --images --scenes --fit --epochs --dropout --smoothing --data.valid",
    "train codebook": f"""{RUN}
        --images --scenes --size --model.patch --model.width --model.depth --model.quantiser --model.levels
        --model.temperature --data.valid""",
    "train dalle": f"""{RUN} {BLOCK}
        --images --scenes --size --captions --codebook --vocabulary --model.smoothing --model.text-share
        --model.blank-captions --data.valid --drawing.temperature --drawing.top-p --drawing.guidance
        --measured.captions --measured.candidates""",
    "translate": """
        --input --output --beam --length-penalty --nbest --patience --coverage-penalty --sample --temperature --top-k
        --top-p --min-p --seed --repetition-penalty --no-repeat --prefix --contain --avoid --glossary --protect
        --language --scores --alignments --json --min-confidence --withhold --also --batch-tokens --threads
        --compute""",
    "evaluate": """
        --source --reference --pairs --source-language --target-language --merge --against --json --output --beam
        --length-penalty --tokenize --lowercase""",
    "fill": "--best --json",
    "embed": "--input --output --pooling --raw --compute --threads",
    "similar": "--pairs --labels --columns",
    "generate": """
        --tokens --temperature --top-k --top-p --min-p --seed --stop -o --output --threads --compute""",
    "draw": """
        -o --out --best --scale --threads --candidates --seed --temperature --top-p --guidance --ranking""",
    "classify": "--input --labels --columns --json --best --fit --threads",
    "import": "-o --out --language --pairs --revision --allow-pickle",
    "export": "--to -o --out --numbers --source --target",
    "explore": "--text --html --png --terminal --station --side --layer --head --host --port --no-open",
}


def flags_of(command: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """All flags in the help, with aliases."""
    assert code_of(*command.split(), "--help-all") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  -")]
    return {word.strip(",") for line in lines for word in line.split() if word.startswith("-")}


@pytest.mark.parametrize("command", OLD_FLAGS)
def test_every_old_flag_works_or_names_the_new_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = flags_of(command, capsys)
    for flag in OLD_FLAGS[command].split():
        if flag in known:
            continue
        code = code_of(*command.split(), flag, "1")
        shown = capsys.readouterr()
        message = refused(shown.err, shown.out, code)
        assert message.startswith(f"error: {flag} is now --"), message
        assert message.removeprefix(f"error: {flag} is now ").removesuffix(".") in known


def test_the_table_of_renamed_flags_has_only_flags_that_existed() -> None:
    for command, names in COMMANDS.items():
        assert set(names) <= set(OLD_FLAGS[command.removeprefix("qkv ")].split())
    training = {
        flag for name, flags in OLD_FLAGS.items() if name.startswith("train") for flag in flags.split()
    }
    later = {"--augment-colours", "--no-augment-colours"}  # of version 0.2
    assert set(TRAINING) - later <= training


def test_an_old_flag_of_another_command_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """`train gpt` has no --architecture to name."""
    code = code_of("train", "gpt", "--model", "recurrent", "--out", "x")
    shown = capsys.readouterr()
    assert "unrecognized argument --model" in refused(shown.err, shown.out, code)
