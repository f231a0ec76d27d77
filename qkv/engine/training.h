// What a training step does between its matrix products: attention over short sentences, dropout and norms, each with its
// gradient, in one pass over memory. One thread.

#pragma once

#include <algorithm>
#include <cmath>

#include "functions.h"
#include "model.h"
#include "wide.h"

namespace {
namespace training {

using wide::all_of, wide::exponential, wide::F, wide::I, wide::larger, wide::largest, wide::load, wide::store, wide::sum,
    wide::WIDE;

// y[i] = Σ_j by[i, j] x[j] for ROWS rows i and VECTORS vectors of each row of x.
template <int ROWS, int VECTORS>
inline void combine_block(const float* by, int64_t by_row, int64_t by_column, int inner, const float* x, int x_stride,
                          float* y, int y_stride) {
    F sums[ROWS][VECTORS] = {};
    for (int j = 0; j < inner; j++, x += x_stride, by += by_column) {
        F row[VECTORS];
        for (int v = 0; v < VECTORS; v++) row[v] = load(x + v * WIDE);
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < VECTORS; v++) sums[i][v] += by[i * by_row] * row[v];
    }
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < VECTORS; v++) store(y + i * y_stride + v * WIDE, sums[i][v]);
}

template <int VECTORS>
inline void combine_columns(const float* by, int64_t by_row, int64_t by_column, int rows, int inner, const float* x,
                            int x_stride, float* y, int y_stride) {
    int i = 0;
    for (; i + 4 <= rows; i += 4)
        combine_block<4, VECTORS>(by + i * by_row, by_row, by_column, inner, x, x_stride, y + i * y_stride, y_stride);
    by += i * by_row, y += i * y_stride;
    switch (rows - i) {
        case 3: return combine_block<3, VECTORS>(by, by_row, by_column, inner, x, x_stride, y, y_stride);
        case 2: return combine_block<2, VECTORS>(by, by_row, by_column, inner, x, x_stride, y, y_stride);
        case 1: return combine_block<1, VECTORS>(by, by_row, by_column, inner, x, x_stride, y, y_stride);
    }
}

// y (rows, width) = by (rows, inner) x (inner, width); `by` may lie in memory in any order. Widths are padded.
inline void combine(const float* by, int64_t by_row, int64_t by_column, int rows, int inner, const float* x, float* y,
                    int width) {
    int c = 0;
    for (; c + 2 * WIDE <= width; c += 2 * WIDE)
        combine_columns<2>(by, by_row, by_column, rows, inner, x + c, width, y + c, width);
    if (c < width) combine_columns<1>(by, by_row, by_column, rows, inner, x + c, width, y + c, width);
}

struct Shape : TrainingAttention {
    int wide, longest, half;  // width and keys, padded
    int64_t stride;           // from one position to the next, where nothing lies between
    float scale;

    explicit Shape(const TrainingAttention& given)
        : TrainingAttention(given), wide(padded(int(width))), longest(padded(int(keys))), half(int(width) / 2),
          stride(heads * width), scale(1 / std::sqrt(float(width))) {}
};

inline void copy(const float* from, int count, float* to) {
    int c = 0;
    for (; c + WIDE <= count; c += WIDE) store(to + c, load(from + c));
    for (; c < count; c++) to[c] = from[c];
}

// x · cosines + y · sines
inline void rotate(const float* x, const float* y, const float* cosines, const float* sines, int count, float* to) {
    int c = 0;
    for (; c + WIDE <= count; c += WIDE) store(to + c, load(x + c) * load(cosines + c) + load(y + c) * load(sines + c));
    for (; c < count; c++) to[c] = x[c] * cosines[c] + y[c] * sines[c];
}

// One head of one sentence, with zeros behind its width. Queries and keys are rotated: see qkv/core/positions.py.
inline void take(const float* row, int64_t stride, int count, const Shape& shape, bool rotated, float* to) {
    const int width = int(shape.width), half = shape.half;
    for (int i = 0; i < count; i++, row += stride, to += shape.wide) {
        if (rotated) {
            const float *cosines = shape.rotation + int64_t(i) * 2 * width, *sines = cosines + width;
            rotate(row, row + half, cosines, sines, half, to);
            rotate(row + half, row, cosines + half, sines + half, half, to + half);
        } else {
            copy(row, width, to);
        }
        std::fill(to + width, to + shape.wide, 0.0f);
    }
}

// The opposite for gradients: the transposed rotation, and back among the other heads.
inline void give(const float* from, int count, const Shape& shape, bool rotated, float* to) {
    const int width = int(shape.width), half = shape.half;
    for (int i = 0; i < count; i++, from += shape.wide, to += shape.stride) {
        if (rotated) {
            const float *cosines = shape.rotation + int64_t(i) * 2 * width, *sines = cosines + width;
            rotate(from, from + half, cosines, sines + half, half, to);
            rotate(from + half, from, cosines + half, sines, half, to + half);
        } else {
            copy(from, width, to);
        }
    }
}

// (count, width) to (width, long), with zeros behind `count`.
inline void transpose(const float* from, int count, int width, int wide, float* to, int longest) {
    for (int c = 0; c < width; c++, to += longest) {
        for (int i = 0; i < count; i++) to[i] = from[i * wide + c];
        std::fill(to + count, to + longest, 0.0f);
    }
}

// softmax(scores * scale + mask) in place; the mask reaches to `longest`. A row that sees nothing becomes zeros.
inline void softmax(float* scores, int longest, const float* mask, float scale) {
    F most = load(mask) + load(scores) * scale, total = {};
    store(scores, most);
    I numbers = most == most;
    for (int s = WIDE; s < longest; s += WIDE) {
        const F each = load(mask + s) + load(scores + s) * scale;
        store(scores + s, each);
        most = larger(each, most), numbers &= each == each;
    }
    float top = largest(most);
    if (!all_of(numbers)) top = std::numeric_limits<float>::quiet_NaN();
    else if (top == NEVER) top = 0;  // the exponentials are zeros, and so is what they are divided by
    for (int s = 0; s < longest; s += WIDE) {
        const F each = exponential(load(scores + s) - top);
        store(scores + s, each);
        total += each;
    }
    const float all = sum(total), share = all == 0 ? 0 : 1 / all;
    for (int s = 0; s < longest; s += WIDE) store(scores + s, load(scores + s) * share);
}

// The mask of one sentence, (queries or 1, longest): what lies behind the keys is hidden.
inline void take_mask(const float* mask, int rows, int64_t stride, int keys, int longest, float* to) {
    for (int i = 0; i < rows; i++, to += longest) {
        if (mask) std::copy(mask + i * stride, mask + i * stride + keys, to);
        else std::fill(to, to + keys, 0.0f);
        std::fill(to + keys, to + longest, NEVER);
    }
}

// Gradients of the weights become those of the scores.
inline void softmax_backward(float* row, const float* weights, int longest, float scale) {
    F mean = {};
    for (int s = 0; s < longest; s += WIDE) mean += load(row + s) * load(weights + s);
    const float middle = sum(mean);
    for (int s = 0; s < longest; s += WIDE) store(row + s, (load(row + s) - middle) * load(weights + s) * scale);
}

// z = softmax(QKᵀ / √width + mask) V; weights (sentences, heads, queries, padded keys) are kept for the gradient. The mask is
// added to the scores, (sentences or 1, queries or 1, keys), or null.
inline void attend(const TrainingAttention& given, const float* q, const float* k, const float* v, const float* mask, float* z,
                   float* weights) {
    const Shape shape(given);
    const int wide = shape.wide, longest = shape.longest, t = int(shape.queries), s = int(shape.keys), width = int(shape.width);
    static thread_local Array<float> room;
    float* const queries = room.reserve(size_t(2 * t + 2 * s + longest) * wide + size_t(t) * longest);
    float *keys = queries + t * wide, *values = keys + s * wide, *mixed = values + s * wide, *across = mixed + t * wide,
          *masked = across + wide * longest;
    const int mask_rows = shape.mask_query ? t : 1, mask_step = shape.mask_query ? longest : 0;
    for (int64_t b = 0; b < shape.sentences; b++) {
        if (b == 0 || shape.mask_sentence)
            take_mask(mask ? mask + b * shape.mask_sentence : nullptr, mask_rows, shape.mask_query, s, longest, masked);
        for (int64_t head = 0; head < shape.heads; head++, weights += t * longest) {
            const int64_t column = head * width, query = b * t * shape.stride + column;
            take(q + b * t * shape.q_stride + column, shape.q_stride, t, shape, shape.rotation, queries);
            take(k + b * s * shape.k_stride + column, shape.k_stride, s, shape, shape.rotation, keys);
            take(v + b * s * shape.v_stride + column, shape.v_stride, s, shape, false, values);
            transpose(keys, s, width, wide, across, longest);
            combine(queries, wide, 1, t, width, across, weights, longest);
            for (int i = 0; i < t; i++) softmax(weights + i * longest, longest, masked + i * mask_step, shape.scale);
            combine(weights, longest, 1, t, s, values, mixed, wide);
            give(mixed, t, shape, false, z + query);
        }
    }
}

// Gradients by q, k and v from that by z.
inline void attend_backward(const TrainingAttention& given, const float* q, const float* k, const float* v, const float* weights,
                            const float* by_z, float* by_q, float* by_k, float* by_v) {
    const Shape shape(given);
    const int wide = shape.wide, longest = shape.longest, t = int(shape.queries), s = int(shape.keys), width = int(shape.width);
    static thread_local Array<float> room;
    float* const queries = room.reserve(size_t(2 * t + 2 * s + std::max(t, s) + longest) * wide + size_t(t) * longest);
    float *keys = queries + t * wide, *values = keys + s * wide, *upstream = values + s * wide, *result = upstream + t * wide,
          *across = result + std::max(t, s) * wide, *scores = across + wide * longest;
    for (int64_t b = 0; b < shape.sentences; b++)
        for (int64_t head = 0; head < shape.heads; head++, weights += t * longest) {
            const int64_t column = head * width, query = b * t * shape.stride + column, key = b * s * shape.stride + column;
            take(q + b * t * shape.q_stride + column, shape.q_stride, t, shape, shape.rotation, queries);
            take(k + b * s * shape.k_stride + column, shape.k_stride, s, shape, shape.rotation, keys);
            take(v + b * s * shape.v_stride + column, shape.v_stride, s, shape, false, values);
            take(by_z + query, shape.stride, t, shape, false, upstream);
            transpose(values, s, width, wide, across, longest);
            combine(upstream, wide, 1, t, width, across, scores, longest);  // gradients of the weights
            for (int i = 0; i < t; i++) softmax_backward(scores + i * longest, weights + i * longest, longest, shape.scale);
            combine(weights, 1, longest, s, t, upstream, result, wide);
            give(result, s, shape, false, by_v + key);
            combine(scores, 1, longest, s, t, queries, result, wide);
            give(result, s, shape, shape.rotation, by_k + key);
            combine(scores, longest, 1, t, s, keys, result, wide);
            give(result, t, shape, shape.rotation, by_q + query);
        }
}

// x + y where a random byte is at least `least`, times `factor`; x may be null.
inline void add_dropped(const float* x, const float* y, const uint8_t* bytes, int least, float factor, int64_t count, float* to) {
    if (x)
        for (int64_t i = 0; i < count; i++) to[i] = x[i] + y[i] * (bytes[i] >= least ? factor : 0.0f);
    else
        for (int64_t i = 0; i < count; i++) to[i] = y[i] * (bytes[i] >= least ? factor : 0.0f);
}

// Layer norm of rows; `kept` (rows, 2) are the mean and the inverse deviation of each. The width is a multiple of WIDE.
inline void normalise_rows(const float* x, const float* weight, const float* bias, float epsilon, int64_t rows, int width,
                           float* y, float* kept) {
    for (int64_t row = 0; row < rows; row++, x += width, y += width, kept += 2) {
        F total = {};
        for (int c = 0; c < width; c += WIDE) total += load(x + c);
        const float mean = sum(total) / width;
        F squares = {};
        for (int c = 0; c < width; c += WIDE) squares += (load(x + c) - mean) * (load(x + c) - mean);
        const float inverse = 1 / std::sqrt(sum(squares) / width + epsilon);
        for (int c = 0; c < width; c += WIDE)
            store(y + c, (load(x + c) - mean) * inverse * load(weight + c) + load(bias + c));
        kept[0] = mean, kept[1] = inverse;
    }
}

inline void normalise_rows_backward(const float* x, const float* weight, const float* kept, const float* by_y, int64_t rows,
                                    int width, float* by_x, float* by_weight, float* by_bias) {
    std::fill(by_weight, by_weight + width, 0.0f);
    std::fill(by_bias, by_bias + width, 0.0f);
    for (int64_t row = 0; row < rows; row++, x += width, by_y += width, by_x += width, kept += 2) {
        const float mean = kept[0], inverse = kept[1];
        F total = {}, along = {};
        for (int c = 0; c < width; c += WIDE) {
            const F normal = (load(x + c) - mean) * inverse, upstream = load(by_y + c), inner = upstream * load(weight + c);
            store(by_weight + c, load(by_weight + c) + upstream * normal);
            store(by_bias + c, load(by_bias + c) + upstream);
            total += inner, along += inner * normal;
        }
        const float first = sum(total) / width, second = sum(along) / width;
        for (int c = 0; c < width; c += WIDE) {
            const F normal = (load(x + c) - mean) * inverse;
            store(by_x + c, (load(by_y + c) * load(weight + c) - first - normal * second) * inverse);
        }
    }
}

}  // namespace training
}  // namespace
