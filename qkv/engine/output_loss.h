// The loss of the output layer with its gradients (qkv/core/loss.py has the formulas), in 16-bit products. The logits of a
// few rows and words at a time stay in a core's cache.

#pragma once

#include "int16.h"
#include "wide.h"

#if defined(QKV_INT16)

namespace {
namespace int16 {

constexpr int64_t LOSS_ROWS = 3 * HEIGHT, LOSS_WORDS = DEPTH;

struct OutputLoss {
    const float *hidden, *weight;  // (rows, width), (vocab, width)
    const int64_t* targets;
    int64_t rows, vocab, width;
    float on_target, on_every;     // what the target distribution has on the target, and on every word
    float *by_hidden, *by_weight;  // gradients of the mean loss, or null
};

// One row of logits becomes exponentials, divided by that of the largest logit so far. Reads and writes whole vectors.
struct Normaliser {
    float top = -std::numeric_limits<float>::infinity(), total = 0;

    void add(float* logits, int count) {
        using wide::load, wide::store, wide::WIDE;
        const int end = (count + WIDE - 1) / WIDE * WIDE;
        std::fill(logits + count, logits + end, -std::numeric_limits<float>::infinity());
        wide::F most = load(logits);
        for (int i = WIDE; i < end; i += WIDE) most = wide::larger(load(logits + i), most);
        const float next = std::max(top, wide::largest(most));
        wide::F sums = {};
        for (int i = 0; i < end; i += WIDE) {
            const wide::F each = wide::exponential(load(logits + i) - next);
            store(logits + i, each);
            sums += each;
        }
        total = total * std::exp(top - next) + wide::sum(sums);
        top = next;
    }
};

inline void scale_and_shift(float* row, int count, float scale, float shift) {
    using wide::load, wide::store, wide::WIDE;
    for (int i = 0; i < count; i += WIDE) store(row + i, load(row + i) * scale - shift);
}

inline void add_times(float* to, const float* x, float by, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] += by * x[i];
}

// Gradients of the rows from `first` on, whose exponentials are in `tiles`: a tile of LOSS_ROWS rows for LOSS_WORDS words
// each. A target's part is a thousand times as large as the others: it is multiplied exactly, outside the products.
inline void add_gradients(const OutputLoss& given, int64_t first, int rows, float* tiles, const float* tops, const Normaliser* normalisers) {
    const int64_t width = given.width, blocks = (given.vocab + LOSS_WORDS - 1) / LOSS_WORDS;
    const float *hidden = given.hidden + first * width, mean = 1.0f / given.rows;
    float* const by_hidden = given.by_hidden + first * width;
    float by_target[LOSS_ROWS];
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t word = block * LOSS_WORDS;
        const int words = int(std::min(LOSS_WORDS, given.vocab - word));
        float* const tile = tiles + block * LOSS_ROWS * LOSS_WORDS;
        for (int r = 0; r < rows; r++) {
            const Normaliser& normaliser = normalisers[r];
            const float scale = std::exp(tops[block * LOSS_ROWS + r] - normaliser.top) / normaliser.total;
            float* const row = tile + r * LOSS_WORDS;
            scale_and_shift(row, words, scale * mean, given.on_every * mean);
            const int64_t at = given.targets[first + r] - word;
            if (at < 0 || at >= words) continue;
            by_target[r] = row[at] - given.on_target * mean;
            row[at] = 0;
        }
        multiply({tile, LOSS_WORDS, true}, {given.weight + word * width, width, false}, by_hidden, width, rows, width, words, block > 0);
        multiply({tile, LOSS_WORDS, false}, {hidden, width, false}, given.by_weight + word * width, width, words, width, rows, first > 0);
    }
    for (int r = 0; r < rows; r++) {
        const int64_t target = given.targets[first + r] * width;
        add_times(by_hidden + r * width, given.weight + target, by_target[r], width);
        add_times(given.by_weight + target, hidden + r * width, by_target[r], width);
    }
}

// The sum of the logarithms of all rows' normalisers; fills the gradients.
inline double output_loss(const OutputLoss& given) {
    const int64_t width = given.width, blocks = (given.vocab + LOSS_WORDS - 1) / LOSS_WORDS;
    static thread_local Array<float> room, tops_room;
    const bool keep = given.by_hidden != nullptr;
    float* const tiles = room.reserve((keep ? blocks : 1) * LOSS_ROWS * LOSS_WORDS);
    float* const tops = tops_room.reserve(blocks * LOSS_ROWS);
    double total = 0;
    for (int64_t first = 0; first < given.rows; first += LOSS_ROWS) {
        const int rows = int(std::min(LOSS_ROWS, given.rows - first));
        const float* hidden = given.hidden + first * width;
        Normaliser normalisers[LOSS_ROWS];
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t word = block * LOSS_WORDS;
            const int words = int(std::min(LOSS_WORDS, given.vocab - word));
            float* const tile = tiles + (keep ? block : 0) * LOSS_ROWS * LOSS_WORDS;
            multiply({hidden, width, true}, {given.weight + word * width, width, true}, tile, LOSS_WORDS, rows, words, width, false);
            for (int r = 0; r < rows; r++) {
                normalisers[r].add(tile + r * LOSS_WORDS, words);
                tops[block * LOSS_ROWS + r] = normalisers[r].top;
            }
        }
        for (int r = 0; r < rows; r++) total += normalisers[r].top + std::log(normalisers[r].total);
        if (keep) add_gradients(given, first, rows, tiles, tops, normalisers);
    }
    return total;
}

}  // namespace int16
}  // namespace
#endif
