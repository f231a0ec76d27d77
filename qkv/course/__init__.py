"""Checks for the exercises of the course: see docs/course.

>>> from qkv.course import Checks
>>> check = Checks("en")
>>> check.softmax(lambda scores: scores)
✗ The element [0, 0] must be 0.09, but yours is 1.0.
"""

from qkv.course.checks import Checks, Verdict

__all__ = ["Checks", "Verdict"]
