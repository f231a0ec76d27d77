"""The command line: help, options, and one error message per mistake."""

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

RUN = """
    --output --recipe --resume --steps --minutes --seed --batch-tokens --learning-rate --patience --precision
    --tensorboard --warmup-steps --optimizer --schedule --adam-betas --adam-epsilon --weight-decay --max-grad-norm
    --validate-every --average --keep --device --processes --gradient-accumulation-steps --sharded --log-every --milestones --data-cache --json"""
RUNNING = "--compute-type --device --engine --threads"
CONVENTIONS = "--config --print-config --quiet --verbose"  # of every command
OPTIONS = {
    "demo": "--output --source-language --target-language --seed --steps --resume --json",
    "tour": "--model --output --yes",
    "train translator": RUN
    + """
        --data --source --target --pairs --valid-source --valid-target --valid-pairs --source-language
        --target-language --vocab-size --architecture --width --encoder-depth --decoder-depth --decoder-cell --heads
        --dropout --max-length --max-characters --max-length-ratio --valid-size --bpe-dropout
        --weights --languages --variant --tokenize --lowercase --ffn-width --attention-dropout --norm
        --activation --positions --label-smoothing --beam-size --length-penalty --teacher-models
        --distillation-weight --distillation-temperature""",
    "train gpt": RUN
    + """
        --text --valid-text --vocab-size --depth --width --heads --dropout --max-length --token-type
        --ffn-width --attention-dropout --activation --norm --positions --valid-size
        --max-valid-characters""",
    "train bert": RUN
    + """
        --text --valid-text --vocab-size --depth --width --heads --dropout --max-length --cased
        --next-sentence --ffn-width --attention-dropout --activation --norm --mask-share
        --mask-token-share --random-token-share --whole-word-masking --valid-size""",
    "train vit": RUN
    + """
        --images --scenes --size --colours --depth --width --heads --dropout --valid-size --crop --flip
        --operations --magnitude --augment-colors --erase --ffn-width --attention-dropout
        --activation --label-smoothing --patch""",
    "train codebook": RUN
    + """
        --images --scenes --size --width --depth --patch --quantizer --levels --temperature
        --valid-size""",
    "train dalle": RUN
    + """
        --images --scenes --size --captions --codebook --vocab-size --depth --width --heads --dropout
        --ffn-width --attention-dropout --activation --label-smoothing --text-share --blank-captions
        --valid-size --temperature --top-p --guidance --measured-captions --measured-candidates""",
    "translate": RUNNING
    + """
        --input --output --overwrite --format --all --also-fuzzy --beam-size --length-penalty --num-hypotheses --glossary --protect
        --target-language --alignments --scores --json --min-confidence
        --temperature --top-k --top-p --min-p --patience --coverage-penalty --sample --seed
        --repetition-penalty --no-repeat-ngram-size --prefix --contain --avoid --batch-tokens
        --withhold --ensemble --draft --shortlist --accelerator --column --line-width --max-length-ratio --memory
        --output-column --pivot --protect-pattern""",
    "adapt": """
        --output --memory --pairs --source-language --target-language --general --general-test --general-text --held-out --learning-rates
        --max-loss --epochs --minutes --batch-tokens --device --processes --seed --json""",
    "check": """
        --source --source-language --target-language --glossary --max-length-ratio --select --ignore --fail-on --fix --overwrite --junit
        --sarif --json""",
    "learn": "--report --memory --glossary --least --origin --source-language --target-language --overwrite --json",
    "models": "--from --installed --language --json",
    "get": "--from --json",
    "push": "--license --message --private --json",
    "evaluate": RUNNING
    + """
        --source --reference --pairs --source-language --target-language --merge --against --json
        --output --overwrite --worst --beam-size --length-penalty --tokenize --lowercase""",
    "clean": """
        --pairs --source --target --output --report --overwrite --held-out --source-language --target-language
        --processes --max-length --max-ratio --language-confidence --min-alignment --min-length
        --max-words --min-letters --min-script --markup --max-copied --max-numbers --duplicates
        --near-duplicates --json""",
    "memory": "--source-language --target-language --origin --overwrite --context --limit --json",
    "fill": f"{RUNNING} --top-k --json",
    "embed": f"{RUNNING} --input --output --overwrite --pooling --raw --json",
    "similar": f"{RUNNING} --pairs --labels --columns --json",
    "generate": f"{RUNNING} --overwrite --max-new-tokens --temperature --top-k --top-p --min-p --seed --stop --output --json",
    "draw": f"{RUNNING} --overwrite --output --top-k --scale --candidates --seed --temperature --top-p --guidance --ranking --json",
    "classify": f"{RUNNING} --input --labels --columns --json --top-k --fit",
    "import": "--output --target-language --pairs --revision --allow-pickle --json",
    "export": "--to --output --compute-type --source --target --json",
    "explore": """
        --text --html --png --overwrite --terminal --station --side --layer --head --host --port
        --no-open""",
    "serve": """
        --host --port --pivot --beam-size --max-texts --max-characters --max-alternatives --max-body --max-file --max-queue-tokens
        --timeout --client-timeout --max-connections --cache-size --requests-per-minute --keys --key-address --metrics
        --metrics-token --files --glossaries --suggestions --cors --tls-certificate --tls-key --root-path --trusted-proxies
        --default-source --default-target --explorer --log-format --compute-type --device --engine --threads""",
    "info": "--json",
    "completion": "",
}
# A student is trained as any translator is. The same command resumes it, and its teachers are given by their place.
NOT_OF_STUDENTS = ("--resume", "--data-cache", "--tensorboard", "--teacher-models")
STUDENT = [each for each in OPTIONS["train translator"].split() if each not in NOT_OF_STUDENTS]
OPTIONS["distill"] = f"""
    --text --target-text --test-source --test-target --test-pairs --reverse --num-hypotheses --closeness --teacher-beam-size
    --teacher-length-penalty --compute-type --threads --back-translation-tag --max-ratio --max-copied --min-confidence
    --reverse-drop --duplicates --repeat-pairs --work --word-level {" ".join(STUDENT)}"""
MORE_OPTIONS = {
    "train translator --fine-tune": RUN
    + """
        --data --source --target --pairs --valid-source --valid-target --valid-pairs --source-language
        --target-language --fine-tune --epochs --dropout --label-smoothing --max-characters
        --max-length-ratio --valid-size --bpe-dropout --languages --variant --tokenize --lowercase
        --weights --language-token""",
    "train gpt --music": RUN
    + """
        --music --depth --width --heads --dropout --max-length --transpose --ffn-width
        --attention-dropout --activation --norm --positions""",
    "train gpt --fine-tune --text": f"{RUN} --text --valid-text --fine-tune --epochs --dropout --valid-size --max-valid-characters",
    "train gpt --fine-tune --music": f"{RUN} --music --fine-tune --epochs --dropout --transpose",
    "train gpt --fine-tune --labels": RUN
    + """
        --fine-tune --labels --valid-labels --columns --epochs --dropout --auxiliary-weight --form
        --pretrained --valid-size""",
    "train bert --fine-tune": RUN
    + """
        --fine-tune --labels --valid-labels --columns --valid-columns --epochs --dropout --task
        --pretrained --valid-size""",
    "train vit --fine-tune": RUN
    + """
        --images --scenes --fine-tune --fit --epochs --dropout --label-smoothing --valid-size --crop
        --flip --operations --magnitude --augment-colors --erase""",
    "evaluate --text": f"{RUNNING} --text --music --part --json",
    "evaluate --images": f"""
        {RUNNING} {RUNNING} --images --scenes --json --scenes --part --images --captions --sheet --overwrite --json
        --candidates --seed --temperature --top-p --guidance --ranking""",
}


def test_help_takes_less_than_half_a_second() -> None:
    """Of CPU time, which other programs do not change."""
    times = []
    for _ in range(3):
        began = cpu_time_of_children()
        result = subprocess.run([sys.executable, "-m", "qkv", "--help"], capture_output=True, check=True)
        times.append(cpu_time_of_children() - began)
        assert b"qkv translate" in result.stdout
    assert min(times) < 0.5


def cpu_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_importing_the_package_and_its_command_line_imports_no_torch() -> None:
    program = (
        "import sys, qkv, qkv.cli, qkv.configs, qkv.errors, qkv.training.settings, qkv.families.translator.recipes, "
        "qkv.families.gpt.recipes, qkv.families.bert.recipes, qkv.families.vit.recipes, qkv.families.dalle.recipes;"
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


@pytest.mark.parametrize("name", [*OPTIONS, *MORE_OPTIONS])
def test_the_options_of_a_command_are_these_and_no_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change here breaks scripts: add it to the CHANGELOG."""
    of_all = CONVENTIONS if name != "evaluate --images" else f"{CONVENTIONS} {CONVENTIONS}"  # two helps
    assert sorted(options_in_help(name, "--help-all", capsys)) == sorted(
        f"{(OPTIONS | MORE_OPTIONS)[name]} {of_all}".split()
    )


@pytest.mark.parametrize("name", [*OPTIONS, *MORE_OPTIONS])
def test_help_shows_the_common_options_and_how_to_see_the_rest(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = options_in_help(name, "--help", capsys)
    everything = options_in_help(name, "--help-all", capsys)
    assert shown == everything[: len(shown)] or name == "evaluate --images"
    assert len(shown) <= 30
    if len(everything) > 23 and name != "evaluate --images":
        assert len(shown) < len(everything)


def options_in_help(name: str, option: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert code_of(*name.split(), option) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return re.findall(r"^  (--[a-z][a-z.-]+)", shown.out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["help", "translate"], "usage: qkv translate MODEL"),
        (["help", "train"], "qkv train: train or fine-tune"),
        (["train", "--help"], "qkv train: train or fine-tune"),
        (["train", "--help-all"], "qkv train: train or fine-tune"),
        (["help", "train", "gpt"], "usage: qkv train gpt"),
        (["evaluate", "--images", "--help"], "usage: qkv evaluate MODEL"),
        (["train", "gpt", "--fine-tune", "--text", "--help"], "usage: qkv train gpt"),
    ],
)
def test_help_can_be_asked_for_in_several_ways(
    arguments: list[str], start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*arguments) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(start)
    assert shown.err == ""


def all_names() -> set[str]:
    return {*all_commands(), *(f"train {name}" for name in trainings())}


def test_the_commands_are_these_and_no_others() -> None:
    assert all_names() == set(OPTIONS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["translat"], "unknown command 'translat'; did you mean `qkv translate`?"),
        (["xyzzy"], "unknown command 'xyzzy'; `qkv --help` lists the commands."),
        (
            ["train", "poet"],
            "qkv train cannot train 'poet'; choose from translator, gpt, bert, vit, codebook, dalle.",
        ),
    ],
)
def test_an_unknown_command_gets_a_suggestion(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(*arguments)
    shown = capsys.readouterr()
    assert refused(shown.err, shown.out, code) == f"error: {sentence}"


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
def test_a_folder_without_a_complete_model_is_rejected(
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
        (["--reference", "nowhere.xx"], "there is no file"),
        (["--reference", "a.xx", "--beam", "0"], "--beam-size must be from 1 to"),
        (["--reference", "a.xx", "--tokenize", "14a"], "sacrebleu has no tokenizer '14a'"),
    ],
)
def test_a_mistake_in_evaluation_is_one_error_message(
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


def test_log_messages_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("info", tmp_path / "nothing") == 3
    capsys.readouterr()
    logging.getLogger("qkv.engine.library").info("compiling [for] some seconds")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "compiling [for] some seconds\n")


def test_the_help_of_fine_tuning_names_the_command_with_all_of_its_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert code_of("train", "translator", "--fine-tune", "--help") == 0
    assert "more options: qkv train translator --fine-tune --help-all\n" in capsys.readouterr().out
