// Eight numbers at a time, on any processor, and the functions that torch has for them.

#pragma once

#include <algorithm>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "model.h"

namespace {

inline Floats load(const float* from) { return *reinterpret_cast<const LooseFloats*>(from); }
inline void store(float* to, Floats x) { *reinterpret_cast<LooseFloats*>(to) = x; }
inline Floats all(float x) { return Floats{} + x; }
inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }
inline Floats smaller(Floats a, Floats b) { return a < b ? a : b; }

inline float sum_of(Floats x) {
#if defined(__AVX2__)
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
#else
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
#endif
}

// The sum of each of eight.
inline Floats sums_of(const Floats (&x)[LANES]) {
#if defined(__AVX2__)
    const __m256 first = _mm256_hadd_ps(_mm256_hadd_ps((__m256)x[0], (__m256)x[1]), _mm256_hadd_ps((__m256)x[2], (__m256)x[3]));
    const __m256 second = _mm256_hadd_ps(_mm256_hadd_ps((__m256)x[4], (__m256)x[5]), _mm256_hadd_ps((__m256)x[6], (__m256)x[7]));
    return (Floats)_mm256_add_ps(_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31));
#else
    Floats sums;
    for (int i = 0; i < LANES; i++) sums[i] = sum_of(x[i]);
    return sums;
#endif
}

inline float largest_of(Floats x) {
#if defined(__AVX2__)
    __m128 most = _mm_max_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    most = _mm_max_ps(most, _mm_movehl_ps(most, most));
    return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
#else
    float largest = x[0];
    for (int i = 1; i < LANES; i++) largest = std::max(largest, x[i]);
    return largest;
#endif
}

// The last byte of each.
inline Bytes bytes_of(Ints x) {
#if defined(__AVX2__)
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
    return (Bytes)_mm_cvtsi128_si64(_mm_packus_epi16(halves, halves));
#else
    return __builtin_convertvector(x, Bytes);
#endif
}

inline bool any(Ints x) {
#if defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)x) != 0;
#else
    return (x[0] | x[1] | x[2] | x[3] | x[4] | x[5] | x[6] | x[7]) != 0;
#endif
}

// e to the x: 2 to a whole number, times a polynomial for the rest (relative error below 2e-7).
template <class Vector, class Whole> inline Vector exponential_of(Vector x) {
    x = x > -87.0f ? x : Vector{} - 87.0f;
    x = x < 88.0f ? x : Vector{} + 88.0f;
    const Vector shifted = x * 1.44269504f + 12582912.0f;  // adding 1.5 · 2^23 leaves a whole number in the last bits
    const Vector whole = shifted - 12582912.0f;
    const Vector r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return (Vector)((Whole)p + ((Whole)shifted << 23));
}

inline Floats exponential(Floats x) { return exponential_of<Floats, Ints>(x); }

// As many numbers as the widest registers hold, where less than all of the work is products.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
typedef float Wide __attribute__((vector_size(64)));
typedef int32_t WideInts __attribute__((vector_size(64)));
constexpr int WIDE = 16;

inline Wide load_wide(const float* from) { return (Wide)_mm512_loadu_ps(from); }
inline void store(float* to, Wide x) { _mm512_storeu_ps(to, (__m512)x); }
inline Wide larger(Wide a, Wide b) { return (Wide)_mm512_max_ps((__m512)a, (__m512)b); }
inline Wide exponential(Wide x) { return exponential_of<Wide, WideInts>(x); }
inline Floats lower(Wide x) { return (Floats)_mm512_castps512_ps256((__m512)x); }
inline Floats upper(Wide x) { return (Floats)_mm512_extractf32x8_ps((__m512)x, 1); }
inline float sum_of(Wide x) { return sum_of(lower(x) + upper(x)); }
inline float largest_of(Wide x) { return largest_of(larger(lower(x), upper(x))); }
inline Floats sums_of(const Wide (&x)[LANES]) {
    Floats halves[LANES];
    for (int i = 0; i < LANES; i++) halves[i] = lower(x[i]) + upper(x[i]);
    return sums_of(halves);
}
#else
typedef Floats Wide;
constexpr int WIDE = LANES;
inline Wide load_wide(const float* from) { return load(from); }
#endif

inline Floats sigmoid(Floats x) { return 1.0f / (1.0f + exponential(-x)); }

// Abramowitz and Stegun 7.1.26: half of 1 + erf(x / √2), to 1e-7.
inline Floats normal_distribution(Floats x) {
    const Floats z = (x < 0.0f ? -x : x) * 0.70710678f;
    const Floats t = 1.0f / (1.0f + z * 0.3275911f);
    Floats p = t * 1.061405429f - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const Floats tail = p * t * exponential(-z * z) * 0.5f;
    return x < 0.0f ? tail : 1.0f - tail;
}

enum Activation { NOTHING, RELU, GELU, GELU_TANH, SWISH };

inline Floats activated(Floats x, int activation) {
    switch (activation) {
        case RELU: return larger(x, Floats{});
        case GELU: return x * normal_distribution(x);
        case GELU_TANH: return x * sigmoid((x + x * x * x * 0.044715f) * 1.5957691216f);
        case SWISH: return x * sigmoid(x);
        default: return x;
    }
}

}  // namespace
