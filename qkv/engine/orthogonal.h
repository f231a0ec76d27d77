// Muon's orthogonalisation (qkv/training/optimizer.py) in 16-bit products.

#pragma once

#include <cmath>

#include "int16.h"

#if defined(QKV_INT16)

namespace {
namespace int16 {

struct Polynomial {
    float linear, cubic, quintic;
    int32_t times;
};

// s (n, n) = a aᵀ: what lies above the diagonal is a copy.
inline void multiply_by_itself(const float* a, int64_t n, int64_t k, float* s) {
    multiply({a, k, true}, {a, k, true}, s, n, n, n, k, false, Part::LOWER);
    for (int64_t row = 0; row < n; row++)
        for (int64_t column = row + 1; column < n; column++) s[row * n + column] = s[column * n + row];
}

// x (m, n), with m at most n, in place: divided by its norm, then x := linear x + cubic (x xᵀ) x + quintic (x xᵀ)² x.
inline void orthogonalise(float* x, int64_t m, int64_t n, const Polynomial& polynomial) {
    static thread_local Array<float> room;
    float* const square = room.reserve(2 * m * m + m * n);
    float *const fourth = square + m * m, *const next = fourth + m * m;
    double norm = 0;
    for (int64_t i = 0; i < m * n; i++) norm += double(x[i]) * x[i];
    const float scale = 1 / (float(std::sqrt(norm)) + 1e-7f);
    for (int64_t i = 0; i < m * n; i++) x[i] *= scale;
    for (int32_t time = 0; time < polynomial.times; time++) {
        multiply_by_itself(x, m, n, square);
        multiply_by_itself(square, m, m, fourth);  // it is symmetric
        for (int64_t i = 0; i < m * m; i++) fourth[i] = fourth[i] * polynomial.quintic + square[i] * polynomial.cubic;
        multiply({fourth, m, true}, {x, n, false}, next, n, m, n, m, false);
        for (int64_t i = 0; i < m * n; i++) x[i] = next[i] + x[i] * polynomial.linear;
    }
}

}  // namespace int16
}  // namespace
#endif
