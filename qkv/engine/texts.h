// Texts through the encoder's stack, without padding: their rows lie one after another.

#pragma once

#include <vector>

#include "worker.h"

namespace {

// Where each text begins, whose every row is, and its place in its text.
struct Texts {
    std::vector<int32_t> first, length, owner, position;

    Texts(const int32_t* lengths, int texts) : length(lengths, lengths + texts) {
        for (int text = 0; text < texts; text++) {
            first.push_back(count());
            for (int t = 0; t < lengths[text]; t++) owner.push_back(text), position.push_back(t);
        }
    }

    int count() const { return int(owner.size()); }
};

// Every row sees all rows of its text. begin gives a thread its rows, end takes them.
template <class Begin, class End>
void see_all(const Model& model, const Texts& texts, Common& common, int threads, Begin begin, End end) {
    const Stack& stack = model.encoder;
    const int count = texts.count(), size = stack.heads * stack.head;
    Array<float> keys, values;
    keys.reserve(size_t(count) * size), values.reserve(size_t(count) * size);
    reserve(common, stack, count);
    together(threads, [&](Team& team, int index) {
        Worker me(model, stack, team, index, common);
        me.reserve(count);
        begin(me);
        for (int b = 0; b < stack.depth; b++) {
            me.look_at_self(
                stack.blocks[b].own, count, keys.get(), values.get(), [&](int row) { return texts.position[row]; },
                [&](int row, Looks& looks) {
                    const int text = texts.owner[row];
                    looks.along(keys.get() + me.own(), values.get() + me.own(), texts.first[text], texts.length[text], size);
                });
            me.feed_forward(stack.blocks[b], count);
        }
        me.finish(count);
        end(me);
    });
}

enum Pooling { EACH, MEAN, FIRST };  // what is wanted of a text's rows

void pool(const float* x, const Texts& texts, int wide, int pooling, float* to) {
    if (pooling == EACH) std::copy_n(x, size_t(texts.count()) * wide, to);
    else
        for (size_t text = 0; text < texts.length.size(); text++, to += wide) {
            const float* first = x + size_t(texts.first[text]) * wide;
            const int rows = pooling == MEAN ? texts.length[text] : 1;
            for (int i = 0; i < wide; i += LANES) {
                Floats sum{};
                for (int r = 0; r < rows; r++) sum += load(first + size_t(r) * wide + i);
                store(to + i, sum / float(rows));
            }
        }
}

}  // namespace
