"""All exercises of the course by name, a module for each lesson."""

from qkv.course.exercise import Exercise
from qkv.course.exercises import attention, masks, positions

EXERCISES: dict[str, Exercise] = {**attention.EXERCISES, **positions.EXERCISES, **masks.EXERCISES}
