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

// What one row looks at: keys and values of all heads, one after another.
struct Looks {
    std::vector<const float*> keys, values;
    std::vector<float> weights;
    int count = 0;

    void resize(int size) {
        count = size;
        if (int(keys.size()) >= size) return;
        keys.resize(2 * size), values.resize(2 * size), weights.resize(padded(2 * size));
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

template <int VECTORS> void weighted_sum(const Looks& looks, int offset, float* z) {
    Floats total[VECTORS] = {};
    for (int t = 0; t < looks.count; t++)
        for (int v = 0; v < VECTORS; v++) total[v] += looks.weights[t] * load(looks.values[t] + offset + LANES * v);
    for (int v = 0; v < VECTORS; v++) store(z + LANES * v, total[v]);
}

// softmax(q Kᵀ) V of one head, whose columns begin at offset; queries are scaled already.
void attend(const float* q, Looks& looks, int offset, int head, float* z) {
    float* weights = looks.weights.data();
    float largest = NEVER;
    for (int t = 0; t < looks.count; t++) {
        Floats first{}, second{};
        for (int c = 0; c < head; c += 2 * LANES) {
            first += load(q + c) * load(looks.keys[t] + offset + c);
            second += load(q + c + LANES) * load(looks.keys[t] + offset + c + LANES);
        }
        weights[t] = sum_of(first + second);
        largest = std::max(largest, weights[t]);
    }
    for (int t = looks.count; t % LANES; t++) weights[t] = NEVER;  // e to this is too little to count
    Floats sum{};
    for (int t = 0; t < looks.count; t += LANES) {
        const Floats weight = exponential(load(weights + t) - largest);
        store(weights + t, weight);
        sum += load(weights + t);
    }
    const Floats scale = all(1 / sum_of(sum));
    for (int t = 0; t < looks.count; t += LANES) store(weights + t, load(weights + t) * scale);
    int c = 0;
    for (; c + 8 * LANES <= head; c += 8 * LANES) weighted_sum<8>(looks, offset + c, z + c);
    for (; c + 4 * LANES <= head; c += 4 * LANES) weighted_sum<4>(looks, offset + c, z + c);
    for (; c < head; c += 2 * LANES) weighted_sum<2>(looks, offset + c, z + c);
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
