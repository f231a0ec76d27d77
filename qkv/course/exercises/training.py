"""Lesson 8: training and decoding."""

from collections.abc import Callable, Sequence

import numpy as np

from qkv.course.exercise import Exercise

NextLogs = Callable[[Sequence[int]], np.ndarray]
START, END = 0, 1


def cross_entropy(log_probabilities: np.ndarray, targets: Sequence[int]) -> float:
    return -float(np.mean([row[target] for row, target in zip(log_probabilities, targets, strict=True)]))


def learning_rate(step: int, width: int, warmup: int) -> float:
    return width**-0.5 * min(step**-0.5, step * warmup**-1.5)


def greedy(next_logs: NextLogs, start: int, end: int, limit: int) -> list[int]:
    tokens = [start]
    while len(tokens) <= limit:
        best = int(np.argmax(next_logs(tokens)))
        if best == end:
            break
        tokens.append(best)
    return tokens[1:]


def beam_search(next_logs: NextLogs, start: int, end: int, size: int, limit: int) -> list[int]:
    beams = [(0.0, [start])]
    for _ in range(limit + 1):
        longer = [
            (score + float(log), [*tokens, token])
            for score, tokens in beams
            if tokens[-1] != end
            for token, log in enumerate(next_logs(tokens))
        ]
        finished = [beam for beam in beams if beam[1][-1] == end]
        beams = sorted([*finished, *longer], key=lambda beam: -beam[0])[:size]
        if all(tokens[-1] == end for _, tokens in beams):
            break
    return [token for token in beams[0][1][1:] if token != end]


def logs(*probabilities: float) -> np.ndarray:
    return np.log(np.array(probabilities) + 1e-9)


def garden_path(tokens: Sequence[int]) -> np.ndarray:
    """Tokens: 0 start, 1 end, 2, 3, 4. The likelier first word leads to a worse sentence."""
    table = {
        (0,): logs(0, 0, 0.6, 0.4, 0),
        (0, 2): logs(0, 0.1, 0.3, 0.3, 0.3),
        (0, 3): logs(0, 0, 0, 0, 1),
        (0, 3, 4): logs(0, 1, 0, 0, 0),
    }
    return table.get(tuple(tokens), logs(0, 0.7, 0.1, 0.1, 0.1))


def echo(tokens: Sequence[int]) -> np.ndarray:
    """It never ends."""
    return logs(0, 0.1, 0.2, 0.6, 0.1)


PREDICTED = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]))
EXERCISES = {
    "cross_entropy": Exercise(
        solution=cross_entropy,
        cases=((PREDICTED, [0, 1, 2]), (PREDICTED, [2, 2, 0])),
        mistakes={
            "loss: sum": lambda logs, targets: len(targets) * cross_entropy(logs, targets),
            "loss: no minus": lambda logs, targets: -cross_entropy(logs, targets),
            "loss: all tokens": lambda logs, targets: -float(np.mean(logs)),
            "loss: probability": lambda logs, targets: float(
                np.mean([np.exp(row[target]) for row, target in zip(logs, targets, strict=True)])
            ),
        },
    ),
    "learning_rate": Exercise(
        solution=learning_rate,
        cases=((1, 512, 4000), (4000, 512, 4000), (40000, 512, 4000)),
        mistakes={
            "rate: larger of the two": lambda step, width, warmup: (
                width**-0.5 * max(step**-0.5, step * warmup**-1.5)
            ),
            "rate: no warm-up": lambda step, width, warmup: width**-0.5 * step**-0.5,
            "rate: no width": lambda step, width, warmup: min(step**-0.5, step * warmup**-1.5),
        },
    ),
    "greedy": Exercise(
        solution=greedy,
        cases=((garden_path, START, END, 5), (echo, START, END, 3)),
        mistakes={
            "greedy: with start": lambda next_logs, start, end, limit: [
                start,
                *greedy(next_logs, start, end, limit),
            ],
            "greedy: always to the limit": lambda next_logs, start, end, limit: greedy(
                next_logs, start, -1, limit
            ),
        },
    ),
    "beam_search": Exercise(
        solution=beam_search,
        cases=((garden_path, START, END, 2, 5), (garden_path, START, END, 1, 5)),
        mistakes={
            "beam: greedy": lambda next_logs, start, end, size, limit: greedy(next_logs, start, end, limit),
        },
    ),
}
