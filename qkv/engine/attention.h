// Norm, attention and rotation of single rows.

#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "vectors.h"

namespace {

void normalise(const float* x, float* y, const Norm& norm, int width, float epsilon) {
    const int wide = padded(width);  // padding is 0, and stays so
    Floats sum{};
    for (int i = 0; i < wide; i += LANES) sum += load(x + i);
    const float mean = sum_of(sum) / width;
    Floats squares{};
    for (int i = 0; i < wide; i += LANES) {
        const Floats away = load(x + i) - mean;
        squares += away * away;
    }
    const float variance = (sum_of(squares) - (wide - width) * mean * mean) / width;
    const float scale = 1 / std::sqrt(std::max(variance, 0.0f) + epsilon);
    for (int i = 0; i < wide; i += LANES)
        store(y + i, (load(x + i) - mean) * scale * load(norm.weight + i) + load(norm.bias + i));
}

// What one row looks at: keys and values of one's own heads, one after another, and the weights of each head.
struct Looks {
    explicit Looks(int heads) : heads(heads) {}

    const int heads;
    std::vector<const float*> keys, values;
    std::vector<float> weights;  // (heads, room)
    int count = 0;

    void resize(int size) {
        count = size;
        if (int(keys.size()) >= padded(size)) return;
        keys.resize(padded(2 * size)), values.resize(padded(2 * size));
        weights.resize(heads * keys.size() + 4 * LANES);  // a softmax reads and writes whole vectors
    }

    float* weights_of(int head) { return weights.data() + head * keys.size(); }
    const float* weights_of(int head) const { return weights.data() + head * keys.size(); }

    // Keys are read eight at a time: behind the last one it is there again.
    void fill_up() {
        for (int t = count; t % LANES; t++) keys[t] = keys[count - 1];
    }

    // At rows from one on, of tables with rows of this size.
    void along(const float* key, const float* value, int from, int how_many, int size) {
        resize(how_many);
        for (int t = 0; t < count; t++) {
            keys[t] = key + size_t(from + t) * size;
            values[t] = value + size_t(from + t) * size;
        }
    }
};

// The products of a query, so many vectors of it, with eight keys.
template <int VECTORS> Floats eight_scores(const float* q, const float* const* keys, int offset) {
    Wide parts[LANES];
    for (int key = 0; key < LANES; key++) {
        const float* at = keys[key] + offset;
        parts[key] = load_wide(q) * load_wide(at);
        for (int v = 1; v < VECTORS; v++) parts[key] += load_wide(q + WIDE * v) * load_wide(at + WIDE * v);
    }
    return sums_of(parts);
}

inline Floats eight_scores(const float* q, const float* const* keys, int offset, int head) {
    if (head == 32) return eight_scores<32 / WIDE>(q, keys, offset);
    if (head == 64) return eight_scores<64 / WIDE>(q, keys, offset);
    Floats scores{};
    for (int c = 0; c < head; c += BLOCK) scores += eight_scores<BLOCK / WIDE>(q + c, keys, offset + c);
    return scores;
}

// Scores become their softmax; what is behind the last one counts for nothing. Between loading and storing, so many vectors
// stay in registers: memory that was just written in other pieces takes longer to read than the rest together.
template <int VECTORS> void softmax(float* scores, int count) {
    const Ints place = {0, 1, 2, 3, 4, 5, 6, 7};
    Floats x[VECTORS], most = all(NEVER), sum{};
    for (int v = 0; v < VECTORS; v++) {
        x[v] = place < count - v * LANES ? load(scores + v * LANES) : all(NEVER);
        most = larger(most, x[v]);
    }
    const float largest = largest_of(most);
    for (int v = 0; v < VECTORS; v++) {
        x[v] = exponential(x[v] - largest);
        sum += x[v];
    }
    const Floats scale = all(1 / sum_of(sum));
    for (int v = 0; v < VECTORS; v++) store(scores + v * LANES, x[v] * scale);
}

inline void softmax(float* scores, int count) {
    if (count <= LANES) return softmax<1>(scores, count);
    if (count <= 2 * LANES) return softmax<2>(scores, count);
    if (count <= 4 * LANES) return softmax<4>(scores, count);
    for (int t = count; t % LANES; t++) scores[t] = NEVER;
    Floats most = load(scores), sum{};
    for (int t = LANES; t < count; t += LANES) most = larger(most, load(scores + t));
    const float largest = largest_of(most);
    for (int t = 0; t < count; t += LANES) {
        const Floats weight = exponential(load(scores + t) - largest);
        store(scores + t, weight);
        sum += weight;
    }
    const Floats scale = all(1 / sum_of(sum));
    for (int t = 0; t < count; t += LANES) store(scores + t, load(scores + t) * scale);
}

template <int VECTORS> void weighted_sum(const Looks& looks, const float* weights, int offset, float* z) {
    Wide total[VECTORS] = {};
    for (int t = 0; t < looks.count; t++)
        for (int v = 0; v < VECTORS; v++) total[v] += weights[t] * load_wide(looks.values[t] + offset + WIDE * v);
    for (int v = 0; v < VECTORS; v++) store(z + WIDE * v, total[v]);
}

// softmax(q Kᵀ) V of some heads; queries are scaled already. Eight keys are read for all heads: they lie anywhere, but the
// heads of one lie side by side.
void attend(const float* q, Looks& looks, int heads, int head, float* z) {
    for (int t = 0; t < looks.count; t += LANES)
        for (int h = 0; h < heads; h++)
            store(looks.weights_of(h) + t, eight_scores(q + h * head, looks.keys.data() + t, h * head, head));
    for (int h = 0; h < heads; h++) softmax(looks.weights_of(h), looks.count);
    for (int h = 0; h < heads; h++) {
        int c = h * head;
        const int end = c + head;
        for (; c + 32 <= end; c += 32) weighted_sum<32 / WIDE>(looks, looks.weights_of(h), c, z + c);
        for (; c < end; c += BLOCK) weighted_sum<BLOCK / WIDE>(looks, looks.weights_of(h), c, z + c);
    }
}

// Turn columns i and i + K/2 of every head as a pair; rotation is (2, K), the sines of the first half negative.
void rotate(float* x, int heads, int head, const float* rotation, int turned) {
    for (int h = 0; h < heads; h++, x += head)
        for (int i = 0, j = turned / 2; j < turned; i++, j++) {
            const float first = x[i], second = x[j];
            x[i] = first * rotation[i] + second * rotation[turned + i];
            x[j] = second * rotation[j] + first * rotation[turned + j];
        }
}

}  // namespace
