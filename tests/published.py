"""Folders as others publish them, written by transformers and sentencepiece from tiny random configurations."""

import io
import json
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    MarianConfig,
    MarianMTModel,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    ViTConfig,
    ViTForImageClassification,
)

SCRIPTS = {
    "latin": (0x61, 0x7B), "accents": (0xC0, 0x17F), "greek": (0x3B1, 0x3CA), "cyrillic": (0x430, 0x450),
    "arabic": (0x627, 0x64B), "hebrew": (0x5D0, 0x5EB), "devanagari": (0x905, 0x93A), "thai": (0xE01, 0xE2F),
    "jamo": (0x1100, 0x1113), "hangul": (0xAC00, 0xAE00), "kana": (0x3041, 0x3097), "han": (0x4E00, 0x4F00),
    "wide": (0xFF21, 0xFF5B), "ligatures": (0xFB00, 0xFB07), "fractions": (0xBC, 0xBF), "symbols": (0x2100, 0x2150),
    "circled": (0x2460, 0x2480), "emoji": (0x1F600, 0x1F640), "mathematics": (0x1D400, 0x1D440),
    "combining": (0x300, 0x316), "spaces": (0x2000, 0x200B), "controls": (0x1, 0x20),
}  # fmt: skip
WORDS = [
    "the",
    "a",
    "dog",
    "cat",
    "house",
    "tree",
    "river",
    "small",
    "old",
    "new",
    "sees",
    "finds",
    "loves",
    "never",
    "always",
    "under",
    "over",
    "with",
    "and",
    "or",
    "because",
    "der",
    "die",
    "das",
    "ein",
    "Hund",
    "Katze",
    "Haus",
    "Baum",
    "Fluss",
    "klein",
    "alt",
    "neu",
    "sieht",
    "findet",
    "liebt",
    "nie",
    "immer",
    "unter",
    "über",
    "mit",
    "und",
    "weil",
]


def mixed_lines(count: int, seed: int) -> list[str]:
    """Words of two languages among those of all scripts, with spaces and repetitions that texts have by mistake."""
    chance = random.Random(seed)
    lines = []
    for _ in range(count):
        words = [chance.choice(WORDS) for _ in range(chance.randint(1, 12))]
        for _ in range(chance.randint(0, 4)):
            first, last = chance.choice(list(SCRIPTS.values()))
            word = "".join(chr(chance.randrange(first, last)) for _ in range(chance.randint(1, 6)))
            if chance.random() < 0.2:
                word = chance.choice("aeozß.-!?") * chance.randint(2, 9)
            words.insert(chance.randint(0, len(words)), word + chance.choice(["", "", "\u0301", ",", "."]))
        gap = chance.choice([" ", " ", " ", "  ", "\u00a0", "\t"])
        lines.append(chance.choice(["", "", " "]) + gap.join(words) + chance.choice(["", "", "  ", "\u3000"]))
    return lines


def learned_pieces(lines: list[str], size: int) -> bytes:
    """A SentencePiece model with the rules that Marian's have."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=content,
        vocab_size=size,
        character_coverage=0.98,  # some characters are unknown
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        bos_id=-1,
    )
    return content.getvalue()


def write_marian_tokenizer(folder: Path, languages: tuple[str, ...] = ()) -> dict[str, int]:
    """source.spm, target.spm and vocab.json, and the vocabulary in it."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = {
        "source": learned_pieces(mixed_lines(500, 1), 700),
        "target": learned_pieces(mixed_lines(500, 2), 650),
    }
    pieces = ["</s>", "<unk>", *(f">>{language}<<" for language in languages)]
    for side, content in sides.items():
        (folder / f"{side}.spm").write_bytes(content)
        model = sentencepiece.SentencePieceProcessor(model_proto=content)
        found = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        pieces += [
            piece for piece in found if piece not in pieces and piece != found[-1]
        ]  # one is not in the list
    vocabulary = {piece: number for number, piece in enumerate([*pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    settings = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return vocabulary


def shaken(model: Any, seed: int = 5, scale: float = 0.3) -> Any:
    """With weights that are all different from what a new model has: ones, zeros and small numbers hide mistakes."""
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" not in name:
                weight.copy_(torch.randn(weight.shape, generator=chance) * scale)
    return model.eval()


def marian(vocab: int, *, bias: bool = True, **others: Any) -> MarianMTModel:
    """All sizes different."""
    settings: dict[str, Any] = {
        "vocab_size": vocab, "d_model": 12, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 13, "decoder_ffn_dim": 17, "max_position_embeddings": 40,
        "activation_function": "swish", "scale_embedding": True, "pad_token_id": vocab - 1, "eos_token_id": 0,
        "decoder_start_token_id": vocab - 1, "forced_eos_token_id": None, "num_beams": 3,
    }  # fmt: skip
    model = shaken(MarianMTModel(MarianConfig(**{**settings, **others})))
    if bias:
        model.final_logits_bias.copy_(torch.randn(1, vocab, generator=torch.Generator().manual_seed(6)))
    return model


def write_marian(folder: Path, languages: tuple[str, ...] = (), **others: Any) -> MarianMTModel:
    vocabulary = write_marian_tokenizer(folder, languages)
    model = marian(len(vocabulary), **others)
    model.save_pretrained(folder)
    return model


def write_gpt2(folder: Path, **others: Any) -> Any:
    """With byte-level merges; its mark between documents is the last piece."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    pieces.train_from_iterator(mixed_lines(200, 3), trainer)
    numbers = {**pieces.get_vocab(), "<|endoftext|>": pieces.get_vocab_size()}
    merges = [tuple(pair) for pair in json.loads(pieces.to_str())["model"]["merges"]]
    GPT2Tokenizer(vocab=numbers, merges=merges).save_pretrained(folder)
    settings: dict[str, Any] = {
        "vocab_size": len(numbers), "n_positions": 24, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 17,
        "bos_token_id": len(numbers) - 1, "eos_token_id": len(numbers) - 1,
    }  # fmt: skip
    model = shaken(GPT2LMHeadModel(GPT2Config(**{**settings, **others})))
    model.save_pretrained(folder)
    return model


def write_gpt1(folder: Path, **others: Any) -> Any:
    """With pieces that end words, as vocab.json and merges.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=280,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        limit_alphabet=90,
        show_progress=False,
    )
    pieces.train_from_iterator(mixed_lines(200, 3), trainer)
    stored = json.loads(pieces.to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(stored["vocab"]), encoding="utf-8")
    merges = "\n".join(" ".join(pair) for pair in stored["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    settings: dict[str, Any] = {
        "vocab_size": len(stored["vocab"]), "n_positions": 24, "n_embd": 12, "n_layer": 2, "n_head": 3
    }  # fmt: skip
    model = shaken(OpenAIGPTLMHeadModel(OpenAIGPTConfig(**{**settings, **others})))
    model.save_pretrained(folder)
    return model


def write_bert(folder: Path, kind: type[Any], **others: Any) -> Any:
    """With word pieces as vocab.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for word in WORDS for letter in word.lower()})
    words = [
        *special,
        *letters,
        *(f"##{letter}" for letter in letters),
        *sorted({w.lower() for w in WORDS if len(w) > 1}),
    ]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    settings: dict[str, Any] = {
        "vocab_size": len(words), "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3,
        "intermediate_size": 17, "max_position_embeddings": 26,
    }  # fmt: skip
    model = shaken(kind(BertConfig(**{**settings, **others})))
    model.save_pretrained(folder)
    return model


def write_vit(folder: Path, **others: Any) -> Any:
    settings: dict[str, Any] = {
        "image_size": 12, "patch_size": 4, "num_channels": 3, "hidden_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 3, "intermediate_size": 17, "id2label": {0: "cat", 1: "dog", 2: "bird"},
    }  # fmt: skip
    model = shaken(ViTForImageClassification(ViTConfig(**{**settings, **others})))
    model.save_pretrained(folder)
    seen = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": {"height": 12, "width": 12}}
    (folder / "preprocessor_config.json").write_text(json.dumps(seen), encoding="utf-8")
    return model
