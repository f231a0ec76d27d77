"""The command as people meet it: help, its options, and one sentence for every mistake."""

import logging
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from commands import code_of, refused

import qkv
from qkv.checkpoint.files import read_json, write_json
from qkv.cli import all_commands, trainings

OPTIONS = {
    "demo": "--out --source-language --target-language --seed",
    "train translator": """
        --out --recipe --resume --tensorboard --data --source --target --pairs --valid-source --valid-target
        --valid-pairs --source-language --target-language --steps --minutes --seed --vocab-size
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --max-characters --max-length-ratio --valid-size --bpe-dropout
        --languages --variant --tokenize --lowercase --model --width
        --encoder-depth --decoder-depth --heads --ffn-width --dropout
        --attention-dropout --norm --activation --positions --max-length
        --label-smoothing --beam-size --length-penalty""",
    "train gpt": """
        --out --recipe --resume --tensorboard --text --valid-text --steps --minutes --seed --token-type
        --vocab-size --batch-tokens --learning-rate --warmup-steps --optimizer
        --schedule --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --depth --width --heads --ffn-width --dropout
        --attention-dropout --activation --max-length --norm --positions
        --valid-size --max-valid-characters""",
    "train bert": """
        --out --recipe --resume --tensorboard --text --valid-text --steps --minutes --seed --vocab-size
        --cased --no-next-sentence --batch-tokens --learning-rate --warmup-steps
        --optimizer --schedule --adam-betas --adam-epsilon --weight-decay
        --max-grad-norm --validate-every --average --keep --patience
        --processes --gradient-accumulation-steps --precision --sharded
        --log-every --milestones --depth --width --heads --ffn-width
        --dropout --attention-dropout --activation --max-length --norm
        --mask-share --mask-token-share --random-token-share --whole-word-masking --valid-size""",
    "train vit": """
        --out --recipe --resume --tensorboard --images --scenes --size --colours --steps --minutes --seed
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --valid-size --crop --flip --operations
        --magnitude --no-colours --erase --depth --width --heads
        --ffn-width --dropout --attention-dropout --activation --label-smoothing
        --patch""",
    "train codebook": """
        --out --recipe --resume --tensorboard --images --scenes --size --steps --minutes --seed
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --patch --width --depth --quantizer --levels
        --temperature --valid-size""",
    "train dalle": """
        --out --recipe --resume --tensorboard --images --scenes --size --captions --codebook --steps
        --minutes --seed --vocab-size --batch-tokens --learning-rate --warmup-steps
        --optimizer --schedule --adam-betas --adam-epsilon --weight-decay
        --max-grad-norm --validate-every --average --keep --patience
        --processes --gradient-accumulation-steps --precision --sharded
        --log-every --milestones --depth --width --heads --ffn-width
        --dropout --attention-dropout --activation --label-smoothing --text-share
        --blank-captions --valid-size --temperature --top-p --guidance
        --measured-captions --measured-candidates""",
    "translate": """
        --input --output --beam --length-penalty --num_hypotheses --patience --coverage-penalty --sample
        --temperature --top-k --top-p --min-p --seed --repetition-penalty --no-repeat-ngram-size --prefix --contain
        --avoid --glossary --protect --language --scores --alignments --json --min-confidence --withhold
        --also --batch-tokens --threads --compute""",
    "evaluate": """
        --source --reference --pairs --source-language --target-language --merge --against --json --output
        --beam --length-penalty --tokenize --lowercase""",
    "clean": """
        --pairs --source --target --output --report --held-out --source-language --target-language --processes
        --min-length --max-length --max-words --max-ratio --min-letters --min-script --markup --max-copied
        --max-numbers --language-confidence --no-duplicates --near-duplicates --min-alignment""",
    "fill": "--best --json",
    "embed": "--input --output --pooling --raw --compute-type --threads",
    "similar": "--pairs --labels --columns",
    "generate": """
        --max-new-tokens --temperature --top-k --top-p --min-p --seed --stop --threads --compute""",
    "draw": """
        --best --scale --threads --candidates --seed --temperature --top-p --guidance --ranking""",
    "classify": "--input --labels --columns --json --best --fit --threads",
    "import": "--language --pairs --revision --allow-pickle",
    "export": "--to --numbers --source --target",
    "explore": """
        --text --html --png --terminal --station --side --layer --head --host --port --no-open""",
    "info": "",
}
FINE_TUNE_OPTIONS = {
    "train gpt --fine-tune --text": """
        --out --recipe --resume --tensorboard --text --valid-text --fine-tune --steps --minutes --seed
        --epochs --dropout
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --valid-size --max-valid-characters""",
    "train gpt --fine-tune --music": """
        --out --recipe --resume --tensorboard --music --fine-tune --steps --minutes --seed
        --epochs --dropout --transpose
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones""",
    "train vit --fine-tune": """
        --out --recipe --resume --tensorboard --images --scenes --fine-tune --fit --steps --minutes --seed
        --epochs --dropout --label-smoothing
        --batch-tokens --learning-rate --warmup-steps --optimizer --schedule
        --adam-betas --adam-epsilon --weight-decay --max-grad-norm
        --validate-every --average --keep --patience --processes
        --gradient-accumulation-steps --precision --sharded --log-every
        --milestones --valid-size --crop --flip --operations
        --magnitude --no-colours --erase""",
}


def test_help_answers_in_under_half_a_second() -> None:
    """Of work: how long others keep the machine busy meanwhile is not its own."""
    times = []
    for _ in range(3):
        began = work_of_children()
        result = subprocess.run([sys.executable, "-m", "qkv", "--help"], capture_output=True, check=True)
        times.append(work_of_children() - began)
        assert b"qkv translate" in result.stdout
    assert min(times) < 0.5


def work_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_importing_the_package_and_its_command_line_imports_no_torch() -> None:
    program = (
        "import sys, qkv, qkv.cli, qkv.configs, qkv.errors, qkv.training.settings, qkv.families.translator.recipes, "
        "qkv.families.gpt.settings, qkv.families.bert.settings, qkv.families.vit.recipes, qkv.families.dalle.recipes;"
        "print([name for name in ('torch', 'tokenizers', 'sacrebleu', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_the_overview_names_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*arguments) == 0
    shown = capsys.readouterr()
    assert all(f"qkv {name}" in shown.out for name in all_names())
    assert shown.err == ""


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--version") == 0
    assert capsys.readouterr().out == f"qkv {qkv.__version__}\n"


def test_the_public_names_are_these() -> None:
    assert set(qkv.__all__) == {"Trace", "Translator", "UserError", "__version__", "load", "trace"}
    assert all(getattr(qkv, name) for name in qkv.__all__)
    with pytest.raises(AttributeError, match="no attribute 'transalte'"):
        _ = qkv.transalte


@pytest.mark.parametrize("name", [*OPTIONS, *FINE_TUNE_OPTIONS])
def test_the_options_of_a_command_are_these_and_no_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change here changes what people have in their scripts: say so in the CHANGELOG."""
    assert code_of(*name.split(), "--help") == 0
    shown = capsys.readouterr().out
    found = re.findall(r"^(?:│ | {1,3})(?:-h, )?(--[a-z][a-z.-]+)", shown, flags=re.MULTILINE)
    assert [each for each in found if each != "--help"] == (OPTIONS | FINE_TUNE_OPTIONS)[name].split()


def all_names() -> set[str]:
    return {*all_commands(), *(f"train {name}" for name in trainings())}


def test_the_commands_are_these_and_no_others() -> None:
    assert all_names() == set(OPTIONS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["translat"], "there is no command 'translat'; did you mean `qkv translate`?"),
        (["xyzzy"], "there is no command 'xyzzy'; `qkv --help` lists the commands."),
        (
            ["train", "poet"],
            "qkv train needs to know what to train: translator, gpt, bert, vit, codebook, dalle, not 'poet'.",
        ),
    ],
)
def test_an_unknown_command_gets_a_suggestion(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*arguments)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code) == f"qkv: {sentence}"


def damaged_models(model: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    empty, other, cut = folder / "empty", folder / "other", folder / "cut"
    for each in (empty, other, cut):
        each.mkdir()
    for path in model.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
        (cut / path.name).write_bytes(path.read_bytes())
    write_json(other / "config.json", {**read_json(other / "config.json"), "format": 99})
    (cut / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-10])
    return {
        "missing": (folder / "nowhere", "there is no folder"),
        "empty": (empty, "is not a qkv model"),
        "format": (other, "has bundle format 99"),
        "cut": (cut, "model.safetensors is damaged"),
    }


@pytest.mark.parametrize("harm", ["missing", "empty", "format", "cut"])
@pytest.mark.parametrize("command", ["translate", "evaluate", "info"])
def test_a_folder_that_is_no_whole_model_is_refused(
    command: str, harm: str, model: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, sentence = damaged_models(model, files)[harm]
    rest = {
        "translate": ["one"],
        "evaluate": ["--source", files / "a.en", "--reference", files / "a.xx"],
        "info": [],
    }
    code = code_of(command, folder, *rest[command])
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--reference", "shorter.xx"], "has 60 lines but"),
        (["--reference", "empty.xx"], "is empty"),
        (["--reference", "latin1.xx"], "is not UTF-8"),
        (["--reference", "nowhere.xx"], "There is no file"),
        (["--reference", "a.xx", "--beam", "0"], "--beam must be at least 1"),
        (["--reference", "a.xx", "--tokenize", "14a"], "sacrebleu has no tokenizer '14a'"),
    ],
)
def test_a_mistake_in_evaluation_is_one_sentence(
    options: list[str],
    sentence: str,
    model: Path,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    code = code_of("evaluate", model, "--source", "a.en", *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


def test_what_the_engine_has_to_tell_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("info", tmp_path / "nothing") == 2
    capsys.readouterr()
    logging.getLogger("qkv.engine.library").info("compiling [for] some seconds")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "compiling [for] some seconds\n")
