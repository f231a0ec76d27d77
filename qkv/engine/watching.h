// The attention of a search: recorded step by step, and gathered for the hypotheses that were found.

#pragma once

#include "session.h"

namespace {

// The mean over the watched heads of what the newest step looked at.
void record(Session& session) {
    if (session.watched.empty()) return;
    const size_t longest = session.longest, heads = session.model.decoder.heads;
    std::vector<float> mean(session.rows * longest, 0.0f);
    for (int row = 0; row < session.rows; row++)
        for (size_t i = 0; i < longest; i++) {
            float sum = 0;
            for (int32_t head : session.watched) sum += session.looked[(row * heads + head) * longest + i];
            mean[row * longest + i] = sum / float(session.watched.size());
        }
    session.history.push_back(std::move(mean));
}

// Where a hypothesis that ends in this row was at every step.
void remember_places(const Session& session, int row, Hypothesis& hypothesis) {
    if (!session.watched.empty()) hypothesis.places = session.place[row];
}

// The attention of a found hypothesis at every step on every token of its source, (steps, length).
void gather_attention(const Session& session, int sentence, int rank, float* to) {
    const std::vector<int32_t>& places = session.found[sentence][rank].places;
    const size_t length = session.length[sentence];
    for (size_t step = 0; step < places.size(); step++)
        std::copy_n(&session.history[step][places[step] * size_t(session.longest)], length, to + step * length);
}

}  // namespace
