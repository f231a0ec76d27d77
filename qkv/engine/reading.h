// A decoder that reads texts: states or logits of every position, where a step has logits of the last one alone.

#pragma once

#include "session.h"

namespace {

// Ids at so many positions, (positions, rows), of a session; as many positions at once as stay in a core's cache.
// States (positions, rows, padded width) and logits (positions, rows, vocab), each where it is wanted.
void read_all(Session& session, const int32_t* ids, int positions, float* states, float* logits) {
    const Model& model = session.model;
    const int rows = session.rows, most = std::max(1, TOKENS / rows);
    for (int from = 0; from < positions; from += most) {
        const int now = std::min(most, positions - from), count = now * rows;
        const size_t before = size_t(from) * rows;
        session.newest.assign(ids + before, ids + before + count);
        session.prepare(now);
        together(session.threads, [&](Team& team, int index) {
            Worker me(model, model.decoder, team, index, session.common);
            me.reserve(count);
            session.pass(me, now);
            if (states && index == 0) std::copy_n(me.x.get(), size_t(count) * me.wide, states + before * me.wide);
            if (logits)
                session.outputs(me, 0, count, [&](int row, int tile, const float* found, int real) {
                    std::copy_n(found, real, logits + (before + row) * model.vocab + tile * TILE);
                });
        });
    }
}

}  // namespace
