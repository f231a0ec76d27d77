"""The expression that selects a plural form in the header of a gettext catalog, such as `n%10==1 && n%100!=11 ? 0 : 1`."""

import operator
import re
from collections.abc import Callable

LONGEST = 300  # characters: a long sum is a deep stack of calls
DEEPEST = 50  # brackets and conditions inside each other
TOKEN = re.compile(r"\s*(\d{1,9}|n|\|\||&&|[=!<>]=|[-+*/%<>!?:()])")
LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (  # weakest first
    {"||": lambda one, other: int(bool(one or other))},
    {"&&": lambda one, other: int(bool(one and other))},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)
Expression = Callable[[int], int]


def parse_expression(text: str) -> Expression | None:
    """A function from a number to its form; None if the text is not such an expression."""
    if len(text) > LONGEST:
        return None
    tokens, place = [], 0
    while place < len(text.rstrip()):
        token = TOKEN.match(text, place)
        if token is None:
            return None
        tokens.append(token[1])
        place = token.end()
    try:
        return Parser([*reversed(tokens)]).whole()
    except (ValueError, IndexError):
        return None


class Parser:
    """Reads tokens from the end of a list."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.depth = tokens, 0

    def whole(self) -> Expression:
        found = self.condition()
        if self.tokens:
            raise ValueError(self.tokens[-1])
        return found

    def condition(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError("too deep")
        test = self.binary(0)
        if self.tokens and self.tokens[-1] == "?":
            self.tokens.pop()
            chosen = self.condition()
            self.expect(":")
            otherwise = self.condition()
            self.depth -= 1
            return lambda n: chosen(n) if test(n) else otherwise(n)
        self.depth -= 1
        return test

    def binary(self, level: int) -> Expression:
        if level == len(LEVELS):
            return self.single()
        left = self.binary(level + 1)
        while self.tokens and self.tokens[-1] in LEVELS[level]:
            left = joined(LEVELS[level][self.tokens.pop()], left, self.binary(level + 1))
        return left

    def single(self) -> Expression:
        token = self.tokens.pop()
        if token == "n":
            return lambda n: n
        if token.isdigit():
            return lambda n: int(token)
        if token == "!":
            inner = self.single()
            return lambda n: int(not inner(n))
        if token != "(":
            raise ValueError(token)
        inner = self.condition()
        self.expect(")")
        return inner

    def expect(self, token: str) -> None:
        if self.tokens.pop() != token:
            raise ValueError(token)


def joined(operation: Callable[[int, int], int], left: Expression, right: Expression) -> Expression:
    return lambda n: int(operation(left(n), right(n)))
