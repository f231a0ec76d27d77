"""The end of an adaptation: the chosen model with its receipt, or the reason why there is none."""

import shutil
from collections.abc import Sequence
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, save_report
from qkv.checkpoint.files import file_hash, read_json, write_json
from qkv.errors import ModelError
from qkv.evaluation.scores import Scorer
from qkv.families.translator.adaptation.job import KEPT, Adaptation
from qkv.families.translator.adaptation.receipt import (
    MOST_WORDS,
    RECEIPT,
    card_section,
    comparison,
    lost_words,
)
from qkv.families.translator.adaptation.search import Snapshot, best

RESULT = "result"


def finish(job: Adaptation, snapshots: Sequence[Snapshot]) -> dict[str, Any]:

    chosen = best(snapshots, job.limits)
    if chosen is None:
        raise ModelError(refusal(job, snapshots))
    receipt = receipt_of(job, snapshots, chosen)
    loss = receipt["general"]["before"]["chrf"]["value"] - receipt["general"]["after"]["chrf"]["value"]
    if loss > job.options.max_loss:
        raise ModelError(
            f"the model loses {loss:.1f} chrF on the general test, although it was within the limit of {job.options.max_loss:g} "
            f"on the pairs to choose by. Nothing was written; {job.work} has the work. Give more general pairs."
        )
    write(job, receipt)
    return receipt


def refusal(job: Adaptation, snapshots: Sequence[Snapshot]) -> str:
    limits = job.limits
    within = [each for each in snapshots if each.general >= limits.least_general]
    if within:
        top = max(within, key=lambda each: each.domain)
        reason = f"the best of them has {top.domain:.1f} chrF on the project's text, the base model {limits.least_domain:.1f}"
    else:
        top = max(snapshots, key=lambda each: each.general)
        loss = limits.least_general + job.options.max_loss - top.general
        reason = f"all lose more than {job.options.max_loss:g} chrF on general text, at least {loss:.1f}"
    return (
        f"none of {len(snapshots)} snapshots can be used: {reason}. Nothing was written. Allow a larger loss, or give more "
        f"translations; {job.work} has the work, which more time or other learning rates continue."
    )


def receipt_of(job: Adaptation, snapshots: Sequence[Snapshot], chosen: Snapshot) -> dict[str, Any]:

    parts = {"domain": job.domain.test, "general": job.general.parts.test}
    folders = {"before": job.base, "after": job.work / KEPT}
    outputs = {
        (part, when): job.outputs(folder, pairs, compute_type="float32")
        for part, pairs in parts.items()
        for when, folder in folders.items()
    }
    scorer = Scorer.make()
    scores = {
        part: comparison(scorer, outputs[part, "before"], outputs[part, "after"], pairs)
        for part, pairs in parts.items()
    }
    lost = lost_words(outputs["general", "before"], outputs["general", "after"], parts["general"])
    own, general = job.domain, job.general.parts
    job.record()
    return {
        "base": {"name": job.base.name, "folder": str(job.base.absolute()), "weights": file_hash(job.base / MODEL_FILE)},
        "max_loss": job.options.max_loss,
        **scores,
        "lost_words": {
            "count": len(lost), "in_references": sum(each["in_references"] for each in lost), "words": lost[:MOST_WORDS],
        },
        "data": {
            "domain": {"train": len(own.train), "dev": len(own.dev), "test": len(own.test), "repeats": job.mixture.repeats},
            "general": {"origin": job.general.origin, "replayed": job.mixture.replayed, "dev": len(general.dev), "test": len(general.test)},
        },
        "chosen": chosen.to_dict(),
        "base_chrf": {"domain": job.limits.least_domain, "general": job.limits.least_general + job.options.max_loss},
        "snapshots": [each.to_dict() for each in snapshots],
        "minutes": round(job.minutes, 2),
    }  # fmt: skip


def write(job: Adaptation, receipt: dict[str, Any]) -> None:
    """The result, complete but for its name."""

    result, kept = job.work / RESULT, job.work / KEPT
    shutil.rmtree(result, ignore_errors=True)
    shutil.copytree(kept, result)
    write_json(result / RECEIPT, receipt)
    card = (kept / "README.md").read_text(encoding="utf-8") + card_section(receipt)
    save_report(result, {**read_json(kept / "report.json"), "adaptation": receipt}, card)
