// Vectors of floats as wide as the instruction-set level allows, for the loops of training.

#pragma once

#include "vectors.h"

namespace {
namespace wide {

#if defined(__AVX512F__)
constexpr int WIDE = 16;  // numbers in a vector
#else
constexpr int WIDE = 8;
#endif

typedef float F __attribute__((vector_size(4 * WIDE)));
typedef int32_t I __attribute__((vector_size(4 * WIDE)));
typedef float LooseF __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));  // in memory, at any address

inline F load(const float* from) { return *reinterpret_cast<const LooseF*>(from); }
inline void store(float* to, F x) { *reinterpret_cast<LooseF*>(to) = x; }
inline F all(float x) { return F{} + x; }
inline F larger(F a, F b) { return a > b ? a : b; }

#if defined(__AVX512F__)
inline float sum(F x) { return _mm512_reduce_add_ps((__m512)x); }
inline float largest(F x) { return _mm512_reduce_max_ps((__m512)x); }
inline bool all_of(I x) { return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) == 0xffff; }
#else
inline float sum(F x) { return sum_of(x); }
inline float largest(F x) { return largest_of(x); }
inline bool all_of(I x) { return !any(~x); }
#endif

// e to the power of numbers up to 88: 2^n times a polynomial. Zero below -87, and NaN for NaN.
inline F exponential(F x) {
    constexpr float SHIFT = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, in the lowest bits
    const F shifted = x * 1.44269504f + SHIFT;
    const F whole = shifted - SHIFT;
    const F rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;  // x - n ln 2, with ln 2 in two parts
    F y = all(1.9875691500e-4f);
    y = y * rest + 1.3981999507e-3f;
    y = y * rest + 8.3334519073e-3f;
    y = y * rest + 4.1665795894e-2f;
    y = y * rest + 1.6666665459e-1f;
    y = y * rest + 5.0000001201e-1f;
    y = y * rest * rest + rest + 1.0f;
    const I power = ((I)shifted << 23) + (127 << 23);  // SHIFT's own lowest bits are zeros
    const F result = y * (F)power;
    return x < -87.0f ? F{} : result;
}

}  // namespace wide
}  // namespace
