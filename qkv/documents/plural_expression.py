"""The formula in a gettext header that says which plural form a number has."""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Rule = Callable[[int], int]
TOKEN = re.compile(r"\s*(?:(\d{1,9})|(n)\b|(&&|\|\||==|!=|<=|>=|[-+*/%<>!?:()]))")
LONGEST = 300  # characters
DEEPEST = 50
LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (  # those that bind least come first
    {"||": lambda one, other: int(bool(one or other))},
    {"&&": lambda one, other: int(bool(one and other))},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)


def plural_rule(expression: str) -> Rule | None:
    """The form of a number by an expression of C, such as `n != 1`. None if the expression is not valid."""
    tokens = list(tokens_of(expression.strip().rstrip(";")))
    if len(expression) > LONGEST or "" in tokens:
        return None
    try:
        reader = Reader(tokens)
        rule = reader.choice(0)
    except ValueError:
        return None
    return rule if reader.place == len(tokens) else None


def tokens_of(expression: str) -> Iterator[str]:
    """An empty token stands for what cannot be read."""
    place = 0
    while place < len(expression.rstrip()):
        match = TOKEN.match(expression, place)
        if match is None:
            yield ""
            return
        yield match[0].strip()
        place = match.end()


@dataclass
class Reader:
    tokens: list[str]
    place: int = 0

    def next_is(self, *wanted: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place] in wanted

    def take(self, *wanted: str) -> str:
        if self.place >= len(self.tokens) or (wanted and not self.next_is(*wanted)):
            raise ValueError
        self.place += 1
        return self.tokens[self.place - 1]

    def choice(self, depth: int) -> Rule:
        """condition ? one : other"""
        if depth > DEEPEST:
            raise ValueError
        condition = self.level(0, depth + 1)
        if not self.next_is("?"):
            return condition
        self.take("?")
        one = self.choice(depth + 1)
        self.take(":")
        other = self.choice(depth + 1)
        return lambda n: one(n) if condition(n) else other(n)

    def level(self, number: int, depth: int) -> Rule:
        if number == len(LEVELS):
            return self.operand(depth)
        left = self.level(number + 1, depth)
        while self.next_is(*LEVELS[number]):
            left = combined(LEVELS[number][self.take()], left, self.level(number + 1, depth))
        return left

    def operand(self, depth: int) -> Rule:
        token = self.take()
        if depth > DEEPEST:
            raise ValueError
        if token == "!":
            inner = self.operand(depth + 1)
            return lambda n: int(not inner(n))
        if token == "(":
            inner = self.choice(depth + 1)
            self.take(")")
            return inner
        if token == "n":
            return lambda n: n
        number = int(token)  # an operator is no number
        return lambda _n: number


def combined(operation: Callable[[int, int], int], left: Rule, right: Rule) -> Rule:
    return lambda n: int(operation(left(n), right(n)))
