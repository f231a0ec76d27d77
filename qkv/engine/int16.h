// Products of matrices of float, computed with whole numbers of 16 bits: half as fast again as in float on a
// processor with AVX2, with a precision between those of tf32 and bf16. Training computes with it where it pays.
//
// What is added up together, at most DEPTH numbers of a row or column, has one scale, so that the largest of them is
// LIMIT: sums of DEPTH products then fit 32 bits, whatever the numbers are. Every such sum goes back to float, and
// those of longer rows are added there. A row with a number that is none gives numbers that are none.
//
// The order of work is that of all fast products: a part of b is packed into panels of COLUMNS, one of a into panels of
// ROWS, and the innermost loop multiplies one panel with another. Two neighbours of a row lie in one word of 32 bits,
// for the processor multiplies and adds them as a pair.

#pragma once

#include "model.h"

#if defined(__AVX512BW__) && defined(__AVX512VNNI__)
#define QKV_INT16 16
#elif defined(__AVX2__)
#define QKV_INT16 8
#endif

#if defined(QKV_INT16)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {
namespace int16 {

constexpr int WIDE = QKV_INT16;          // numbers in a vector
constexpr int ROWS = WIDE == 16 ? 12 : 6;
constexpr int COLUMNS = 2 * WIDE;
constexpr int DEPTH = 512;
constexpr int HEIGHT = 96;               // rows of a that are packed together
constexpr float LIMIT = 2047;            // 2047 * 2047 * 512 is just below 2 to the power of 31
constexpr float LEAST = 1e-30f;          // rows with nothing larger count as zeros
constexpr int32_t NO_NUMBER = 0x7f800000;  // from here on, the bits of a float are infinite or none

static_assert(HEIGHT % ROWS == 0 && HEIGHT % WIDE == 0 && DEPTH % COLUMNS == 0);

typedef float F __attribute__((vector_size(4 * WIDE)));
typedef int32_t I __attribute__((vector_size(4 * WIDE)));
typedef float LooseF __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));  // in memory, at any address
typedef int32_t LooseI __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

inline F load(const float* from) { return *reinterpret_cast<const LooseF*>(from); }
inline I load(const int32_t* from) { return *reinterpret_cast<const LooseI*>(from); }
inline void store(float* to, F x) { *reinterpret_cast<LooseF*>(to) = x; }
inline void store(int32_t* to, I x) { *reinterpret_cast<LooseI*>(to) = x; }
inline I bits(const float* from) { return *reinterpret_cast<const LooseI*>(from) & 0x7fffffff; }  // without the sign
inline I larger(I a, I b) { return a > b ? a : b; }

#if QKV_INT16 == 16
inline I rounded(F x) { return (I)_mm512_cvtps_epi32((__m512)x); }
#else
inline I rounded(F x) { return (I)_mm256_cvtps_epi32((__m256)x); }
#endif

// Numbers that fit 16 bits, two in a word: the first below, the second above.
inline I paired(I first, I second) { return (first & 0xffff) | (second << 16); }

// 16 numbers of a row, rounded: 8 pairs.
inline __m256i pairs_of(const float* row, float scale) {
    const __m256 by = _mm256_set1_ps(scale);
    const __m256i first = _mm256_cvtps_epi32(_mm256_loadu_ps(row) * by);
    const __m256i second = _mm256_cvtps_epi32(_mm256_loadu_ps(row + 8) * by);
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
}

// 8 rows of 8 words become 8 columns.
inline void transpose(__m256i x[8]) {
    __m256i y[8], z[8];
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int half = 0; half < 2; half++) {
            z[i + 2 * half] = _mm256_unpacklo_epi64(y[i + half], y[i + 2 + half]);
            z[i + 2 * half + 1] = _mm256_unpackhi_epi64(y[i + half], y[i + 2 + half]);
        }
    for (int i = 0; i < 4; i++) {
        x[i] = _mm256_permute2x128_si256(z[i], z[i + 4], 0x20);
        x[i + 4] = _mm256_permute2x128_si256(z[i], z[i + 4], 0x31);
    }
}

// By what numbers are multiplied before they are rounded, and afterwards; `most` are the bits of the largest.
struct Scale {
    float before, after;
    explicit Scale(int32_t most) {
        float top;
        std::memcpy(&top, &most, sizeof top);
        if (most >= NO_NUMBER) before = 0, after = std::numeric_limits<float>::quiet_NaN();
        else if (top < LEAST) before = after = 0;
        else before = LIMIT / top, after = top / LIMIT;
    }
};

inline int32_t largest(const float* row, int count) {
    I most = {};
    int i = 0;
    for (; i + WIDE <= count; i += WIDE) most = larger(most, bits(row + i));
    int32_t top = 0;
    for (int lane = 0; lane < WIDE; lane++) top = std::max(top, int32_t(most[lane]));
    for (; i < count; i++) {
        int32_t rest;
        std::memcpy(&rest, row + i, sizeof rest);
        top = std::max(top, rest & 0x7fffffff);
    }
    return top;
}

// `count` rows, whose numbers lie one after another; panel (depth / 2, SIZE) of pairs, zeros where rows are missing.
// Eight words are stored at once: what reaches over the end of a line is written once more, or lies behind the panel.
template <int SIZE>
void pack_rows(const float* from, int64_t stride, int count, int depth, int32_t* panel, float* scales) {
    alignas(64) int32_t lines[8][DEPTH / 2 + 8];  // rows may lie so far apart that they push each other out of the cache
    for (int block = 0; block < SIZE; block += 8) {
        const int rows = std::min(8, SIZE - block);
        for (int r = 0; r < rows; r++) {
            const bool there = block + r < count;
            const float* row = from + (block + r) * stride;
            const Scale scale(there ? largest(row, depth) : 0);
            scales[block + r] = scale.after;
            int k = 0;
            for (; k + 16 <= depth && there; k += 16)
                _mm256_store_si256(reinterpret_cast<__m256i*>(lines[r] + k / 2), pairs_of(row + k, scale.before));
            for (; k < depth; k += 16) {
                float rest[16] = {};
                if (there) std::copy(row + k, row + depth, rest);
                _mm256_store_si256(reinterpret_cast<__m256i*>(lines[r] + k / 2), pairs_of(rest, scale.before));
            }
        }
        for (int k = 0; k < depth; k += 16) {
            __m256i words[8];
            for (int r = 0; r < 8; r++) words[r] = _mm256_load_si256(reinterpret_cast<__m256i*>(lines[r < rows ? r : 0] + k / 2));
            transpose(words);
            int32_t* to = panel + k / 2 * SIZE + block;
            for (int word = 0; word < std::min(8, (depth - k + 1) / 2); word++, to += SIZE) {
                if (rows == 4) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(words[word]));
                else _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words[word]);
            }
        }
    }
}

// The same for `count` columns, at most MOST, into panels of SIZE that begin `apart` from each other: row after row,
// since what lies in one row is in the same lines of the cache. A vector may reach over the end of a panel, into what
// is written after it; behind the last pair there must be room for it.
template <int SIZE, int MOST>
void pack_columns(const float* from, int64_t stride, int count, int depth, int32_t* panels, int64_t apart, float* scales) {
    constexpr int VECTORS = (SIZE + WIDE - 1) / WIDE;
    int32_t most[MOST + WIDE] = {};
    for (int k = 0; k < depth; k++) {
        const float* row = from + k * stride;
        int c = 0;
        for (; c + WIDE <= count; c += WIDE) store(most + c, larger(load(most + c), bits(row + c)));
        for (; c < count; c++) {
            int32_t rest;
            std::memcpy(&rest, row + c, sizeof rest);
            most[c] = std::max(most[c], rest & 0x7fffffff);
        }
    }
    const int groups = (count + SIZE - 1) / SIZE;
    float before[MOST + 2 * WIDE] = {};
    for (int c = 0; c < groups * SIZE; c++) {
        const Scale scale(c < count ? most[c] : 0);
        before[c] = scale.before, scales[c] = scale.after;
    }
    const float zeros[MOST + VECTORS * WIDE] = {};
    float edge[2][MOST + VECTORS * WIDE] = {};
    const int reach = (groups - 1) * SIZE + VECTORS * WIDE;  // how far the vectors of a row go
    for (int k = 0; k < depth; k += 2) {
        const float *first = from + k * stride, *second = k + 1 < depth ? first + stride : zeros;
        if ((k + 1) * stride + reach > (depth - 1) * stride + count) {  // memory may end where the last row does
            std::copy(first, first + count, edge[0]);
            std::copy(second, second + count, edge[1]);
            first = edge[0], second = edge[1];
        }
        for (int group = 0; group < groups; group++) {
            int32_t* to = panels + group * apart + (k / 2) * SIZE;
            for (int v = 0; v < VECTORS; v++) {
                const int c = group * SIZE + v * WIDE;
                const F scale = load(before + c);
                store(to + v * WIDE, paired(rounded(load(first + c) * scale), rounded(load(second + c) * scale)));
            }
        }
    }
}

// sums (ROWS, COLUMNS) of the products of a panel of a with one of b.
#if QKV_INT16 == 16
inline void multiply_panels(const int32_t* a, const int32_t* b, int pairs, I sums[ROWS][2]) {
    I sum[ROWS][2] = {};
    for (int k = 0; k < pairs; k++, a += ROWS, b += COLUMNS) {
        const I left = load(b), right = load(b + WIDE);
#pragma GCC unroll 12
        for (int r = 0; r < ROWS; r++) {
            const __m512i pair = _mm512_set1_epi32(a[r]);
            sum[r][0] = (I)_mm512_dpwssd_epi32((__m512i)sum[r][0], pair, (__m512i)left);
            sum[r][1] = (I)_mm512_dpwssd_epi32((__m512i)sum[r][1], pair, (__m512i)right);
        }
    }
    for (int r = 0; r < ROWS; r++) sums[r][0] = sum[r][0], sums[r][1] = sum[r][1];
}
#else
// In words of the processor, for compilers put off the sums and run out of registers: half as fast.
inline void add_row(const int32_t& pair, const I& left, const I& right, I& sum_left, I& sum_right) {
    I all, product;
    asm("vpbroadcastd %[pair], %[all]\n\t"
        "vpmaddwd %[left], %[all], %[product]\n\t"
        "vpaddd %[product], %[sum_left], %[sum_left]\n\t"
        "vpmaddwd %[right], %[all], %[all]\n\t"
        "vpaddd %[all], %[sum_right], %[sum_right]"
        : [sum_left] "+&x"(sum_left), [sum_right] "+&x"(sum_right), [all] "=&x"(all), [product] "=&x"(product)
        : [pair] "m"(pair), [left] "x"(left), [right] "x"(right));
}

inline void multiply_panels(const int32_t* a, const int32_t* b, int pairs, I sums[ROWS][2]) {
    I l0{}, r0{}, l1{}, r1{}, l2{}, r2{}, l3{}, r3{}, l4{}, r4{}, l5{}, r5{};
    for (int k = 0; k < pairs; k++, a += ROWS, b += COLUMNS) {
        const I left = load(b), right = load(b + WIDE);
        add_row(a[0], left, right, l0, r0);
        add_row(a[1], left, right, l1, r1);
        add_row(a[2], left, right, l2, r2);
        add_row(a[3], left, right, l3, r3);
        add_row(a[4], left, right, l4, r4);
        add_row(a[5], left, right, l5, r5);
    }
    sums[0][0] = l0, sums[1][0] = l1, sums[2][0] = l2, sums[3][0] = l3, sums[4][0] = l4, sums[5][0] = l5;
    sums[0][1] = r0, sums[1][1] = r1, sums[2][1] = r2, sums[3][1] = r3, sums[4][1] = r4, sums[5][1] = r5;
}
#endif

// A matrix as it lies in memory: what is added up lies one after another (along), or one stride apart.
struct Matrix {
    const float* numbers;
    int64_t stride;
    bool along;

    const float* at(int64_t row, int64_t k) const { return numbers + (along ? row * stride + k : k * stride + row); }
};

struct Tile {
    int rows, columns;
    bool add;
    const float* bias;  // of its columns, or null
};

enum class Part { ALL, LOWER };  // LOWER: of a symmetric product, only tiles that reach the diagonal or below

inline void store(const I sums[ROWS][2], const float* a_scales, const float* b_scales, float* to, int64_t stride, Tile tile) {
    const F left = load(b_scales), right = load(b_scales + WIDE);
    float bias[COLUMNS] = {};
    if (tile.bias) std::copy(tile.bias, tile.bias + tile.columns, bias);
    const F left_bias = load(bias), right_bias = load(bias + WIDE);
    for (int r = 0; r < tile.rows; r++, to += stride) {
        F results[2] = {__builtin_convertvector(sums[r][0], F) * (left * a_scales[r]) + left_bias,
                        __builtin_convertvector(sums[r][1], F) * (right * a_scales[r]) + right_bias};
        if (tile.columns == COLUMNS) {
            store(to, tile.add ? load(to) + results[0] : results[0]);
            store(to + WIDE, tile.add ? load(to + WIDE) + results[1] : results[1]);
        } else {
            float each[COLUMNS];
            store(each, results[0]), store(each + WIDE, results[1]);
            for (int c = 0; c < tile.columns; c++) to[c] = tile.add ? to[c] + each[c] : each[c];
        }
    }
}

// c (m, n) = a b, or c += a b, plus a bias; a has m rows, b has n columns, and k numbers of each are multiplied and added up.
inline void multiply(Matrix a, Matrix b, float* c, int64_t stride, int64_t m, int64_t n, int64_t k, bool add,
                     Part part = Part::ALL, const float* bias = nullptr) {
    const int64_t panels = (n + COLUMNS - 1) / COLUMNS;
    constexpr int64_t A_APART = ROWS * (DEPTH / 2) + WIDE;
    static thread_local Array<int32_t> a_room, b_room;
    static thread_local std::vector<float> b_scales;
    int32_t* const a_panels = a_room.reserve(HEIGHT / ROWS * A_APART);
    int32_t* const b_panels = b_room.reserve(panels * COLUMNS * (DEPTH / 2) + WIDE);
    b_scales.resize(panels * COLUMNS);
    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        const int depth = int(std::min<int64_t>(DEPTH, k - k0)), pairs = (depth + 1) / 2;
        const int64_t b_apart = int64_t(pairs) * COLUMNS;
        for (int64_t panel = 0; panel < panels; panel += b.along ? 1 : 4) {
            const int64_t first = panel * COLUMNS;
            int32_t* to = b_panels + panel * b_apart;
            const int count = int(std::min<int64_t>(b.along ? COLUMNS : 4 * COLUMNS, n - first));
            if (b.along) pack_rows<COLUMNS>(b.at(first, k0), b.stride, count, depth, to, &b_scales[first]);
            else pack_columns<COLUMNS, 4 * COLUMNS>(b.at(first, k0), b.stride, count, depth, to, b_apart, &b_scales[first]);
        }
        for (int64_t top = 0; top < m; top += HEIGHT) {
            const int height = int(std::min<int64_t>(HEIGHT, m - top)), groups = (height + ROWS - 1) / ROWS;
            float a_scales[HEIGHT];
            if (!a.along) pack_columns<ROWS, HEIGHT>(a.at(top, k0), a.stride, height, depth, a_panels, A_APART, a_scales);
            else
                for (int group = 0; group < groups; group++) {
                    const int first = group * ROWS;
                    pack_rows<ROWS>(a.at(top + first, k0), a.stride, std::min(ROWS, height - first), depth,
                                    a_panels + group * A_APART, a_scales + first);
                }
            for (int64_t panel = 0; panel < panels; panel++)
                for (int group = 0; group < groups; group++) {
                    const int64_t row = top + group * ROWS, column = panel * COLUMNS;
                    if (part == Part::LOWER && column >= row + ROWS) continue;
                    alignas(64) I sums[ROWS][2];
                    multiply_panels(a_panels + group * A_APART, b_panels + panel * b_apart, pairs, sums);
                    const Tile tile = {int(std::min<int64_t>(ROWS, m - row)), int(std::min<int64_t>(COLUMNS, n - column)),
                                       add || k0, bias && !k0 ? bias + column : nullptr};
                    store(sums, a_scales + group * ROWS, &b_scales[column], c + row * stride + column, stride, tile);
                }
        }
    }
}

}  // namespace int16
}  // namespace
#endif
