"""API keys: a TOML file with hashes and limits. The keys themselves are stored nowhere.

[weblate]
sha256 = "…"                     # printf %s KEY | sha256sum
requests_per_minute = 120        # texts
characters_per_minute = 60000
characters = 5000000             # until the server restarts
"""

import hashlib
import hmac
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.errors import DataError

HASH = re.compile(r"[0-9a-f]{64}")
LARGEST_FILE = 10_000_000  # bytes
LONGEST_KEY = 1_000


@dataclass(eq=False)
class Account:
    """A key's name, its limits, and what was used since the server started."""

    name: str
    sha256: str = ""
    requests_per_minute: int | None = None
    characters_per_minute: int | None = None
    characters: int | None = None
    documents: int | None = None
    used_characters: int = 0
    used_documents: int = 0


LIMITS = ("requests_per_minute", "characters_per_minute", "characters", "documents")


class Keys:
    """The accounts of a server by the hash of their key."""

    def __init__(self, accounts: dict[str, Account]):
        self.accounts = accounts

    @classmethod
    def read(cls, path: Path, before: "Keys | None" = None) -> "Keys":
        """Read the file. What the accounts of `before` have used still counts."""
        accounts: dict[str, Account] = {}
        for name, values in read_table(path).items():
            account = account_from(name, values, path)
            if account.sha256 in accounts:
                raise DataError(f"{path}: {accounts[account.sha256].name} and {name} have the same key.")
            accounts[account.sha256] = account
            old = before.accounts.get(account.sha256) if before else None
            if old is not None:
                account.used_characters, account.used_documents = old.used_characters, old.used_documents
        return cls(accounts)

    def find(self, key: str) -> Account | None:
        """The account of a key. Every hash is compared, in constant time, so the time tells nothing."""
        wanted = hashlib.sha256(key[:LONGEST_KEY].encode(errors="replace")).hexdigest()
        found = None
        for known, account in self.accounts.items():
            if hmac.compare_digest(known, wanted):
                found = account
        return found


def read_table(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path} is too large for a file of API keys.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no file {path} with API keys.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"cannot read the API keys in {path} ({error}).") from None


def account_from(name: str, values: Any, path: Path) -> Account:
    where = f"{path}: [{name[:40]}]"
    if not isinstance(values, dict):
        raise DataError(f'{where} must be a table with sha256 = "…".')
    unknown = sorted(values.keys() - {"sha256", *LIMITS})
    if unknown:
        raise DataError(f"{where} has an unknown entry '{unknown[0][:40]}'; use sha256, {', '.join(LIMITS)}.")
    digest = values.get("sha256")
    if not isinstance(digest, str) or not HASH.fullmatch(digest.lower()):
        raise DataError(f"{where}: sha256 must have 64 hexadecimal digits.")
    for limit in LIMITS:
        value = values.get(limit)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise DataError(f"{where}: {limit} must be a number of at least 1.")
    return Account(name, **{**values, "sha256": digest.lower()})
