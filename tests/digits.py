"""Sentences of number words, which a model learns to copy within seconds."""

import random

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def digit_lines(count: int, seed: int = 1, *, shortest: int = 1, longest: int = 5) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(DIGITS, k=generator.randint(shortest, longest))) for _ in range(count)]
