"""All exercises of the course by name, a module for each lesson."""

from qkv.course.exercise import Exercise
from qkv.course.exercises import (
    attention,
    bert,
    dalle,
    decoder,
    encoder,
    gpt,
    heads,
    masks,
    norms,
    one_stream,
    positions,
    recurrent,
    training,
    vit,
)

LESSONS = (attention, heads, positions, norms, encoder, decoder, masks, training, one_stream, gpt, bert, vit, dalle, recurrent)  # fmt: skip
EXERCISES: dict[str, Exercise] = {
    name: exercise for lesson in LESSONS for name, exercise in lesson.EXERCISES.items()
}
