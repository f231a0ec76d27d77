"""Randomness without state: every draw is a function of (seed, purpose, number)."""

import hashlib


def seed_for(seed: int, purpose: str, number: int) -> int:
    digest = hashlib.blake2b(f"{seed}/{purpose}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # torch takes 63 bits
