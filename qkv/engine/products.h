// Linear layers: the loops that take nearly all of the time.

#pragma once

#include <algorithm>
#include <cstring>

#include "vectors.h"

namespace {

// The columns that come next: every group of rows fetches a part of them, so that memory is as busy with each group.
struct Ahead {
    const float* from;
    int step;                      // for each input
};

// The products of COUNT rows with 16 columns of weights. Where a compiler puts these loops into a larger function, it
// runs out of registers for the sums: at half the speed.
#define APART __attribute__((noinline))

template <int COUNT>
APART void products(const float* in, int inputs, const float* weight, Ahead ahead, Floats (&total)[COUNT][2]) {
    Floats sums[COUNT][2] = {};
    for (int k = 0; k < inputs; k++) {
        __builtin_prefetch(ahead.from + size_t(k) * ahead.step, 0, 2);  // to the second cache: the first is full
        const Floats first = load(weight + k * BLOCK), second = load(weight + k * BLOCK + LANES);
        for (int r = 0; r < COUNT; r++) {
            const float x = in[r * size_t(inputs) + k];
            sums[r][0] += x * first;
            sums[r][1] += x * second;
        }
    }
    for (int r = 0; r < COUNT; r++)
        for (int half = 0; half < 2; half++) total[r][half] = sums[r][half];
}

inline int32_t four_bytes(const uint8_t* from) {
    int32_t four;
    std::memcpy(&four, from, 4);
    return four;
}

#if defined(__AVX512VNNI__)
// In assembler, because GCC 12 copies every sum twice around the intrinsic: at two thirds of the speed.
inline __m512i plus_products(__m512i sum, __m512i four, __m512i w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(four), "v"(w));
    return sum;
}

template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    __m512i sums[COUNT];
    for (int r = 0; r < COUNT; r++) sums[r] = _mm512_setzero_si512();
    for (int k = 0; k < inputs; k += 4) {
        const __m512i w = _mm512_loadu_si512(weight + size_t(k) * BLOCK);
        for (int r = 0; r < COUNT; r++)
            sums[r] = plus_products(sums[r], _mm512_set1_epi32(four_bytes(in + r * size_t(inputs) + k)), w);
    }
    for (int r = 0; r < COUNT; r++) _mm512_storeu_si512(total[r], sums[r]);
}
#elif defined(__AVXVNNI__)
template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    __m256i sums[COUNT][2] = {};
    for (int k = 0; k < inputs; k += 4)
        for (int r = 0; r < COUNT; r++)
            for (int half = 0; half < 2; half++) {
                const __m256i four = _mm256_set1_epi32(four_bytes(in + r * size_t(inputs) + k));
                const __m256i w = _mm256_loadu_si256((const __m256i*)(weight + k * BLOCK + 32 * half));
                sums[r][half] = _mm256_dpbusd_avx_epi32(sums[r][half], four, w);
            }
    for (int r = 0; r < COUNT; r++)
        for (int half = 0; half < 2; half++) total[r][half] = (Ints)sums[r][half];
}
#elif defined(__AVX2__)
// Pairs of products are added up in 16 bits over 16 inputs, and only then widened: rounding.py has chosen the weights
// so that no such sum overflows. That saves every other multiplication.
template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i wide[COUNT][2] = {};
    for (int k = 0; k < inputs; k += 16) {
        __m256i narrow[COUNT][2];
#pragma GCC unroll 4
        for (int step = 0; step < 4; step++) {
            const int8_t* at = weight + size_t(k + 4 * step) * BLOCK;
            __builtin_prefetch(at + size_t(inputs) * BLOCK);  // the columns that come next
            const __m256i w[2] = {_mm256_loadu_si256((const __m256i*)at), _mm256_loadu_si256((const __m256i*)(at + 32))};
            for (int r = 0; r < COUNT; r++) {
                const __m256i four = _mm256_set1_epi32(four_bytes(in + r * size_t(inputs) + k + 4 * step));
                for (int half = 0; half < 2; half++) {
                    const __m256i pairs = _mm256_maddubs_epi16(four, w[half]);
                    narrow[r][half] = step ? _mm256_add_epi16(narrow[r][half], pairs) : pairs;
                    asm volatile("" : "+x"(narrow[r][half]));  // else compilers put off the sums and run out of registers
                }
            }
        }
        for (int r = 0; r < COUNT; r++)
            for (int half = 0; half < 2; half++) {
                wide[r][half] = _mm256_add_epi32(wide[r][half], _mm256_madd_epi16(narrow[r][half], ones));
                asm volatile("" : "+m"(wide[r][half]));  // registers are for the sums above
            }
    }
    for (int r = 0; r < COUNT; r++)
        for (int half = 0; half < 2; half++) total[r][half] = (Ints)wide[r][half];
}
#elif defined(__aarch64__)
// Inputs are at most 127, so they are signed bytes as well.
template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    int32x4_t sums[COUNT][4] = {};
    for (int k = 0; k < inputs; k += 4) {
        const int8_t* at = weight + size_t(k) * BLOCK;
        for (int r = 0; r < COUNT; r++) {
            const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(four_bytes(in + r * size_t(inputs) + k)));
            for (int quarter = 0; quarter < 4; quarter++) {  // 4 columns, 4 inputs each
                const int8x16_t w = vld1q_s8(at + 16 * quarter);
#if defined(__ARM_FEATURE_DOTPROD)
                sums[r][quarter] = vdotq_s32(sums[r][quarter], w, four);
#else
                const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(four)), high = vmull_high_s8(w, four);
                sums[r][quarter] = vaddq_s32(sums[r][quarter], vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
            }
        }
    }
    std::memcpy(total, sums, sizeof sums);
}
#elif defined(__SSE2__)
// Bytes are widened to 16 bits, with two inputs of a column side by side; pairs of sums are added at the end.
template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    const __m128i zero = _mm_setzero_si128();
    for (int quarter = 0; quarter < 4; quarter++) {  // 4 columns, 4 inputs each
        __m128i sums[COUNT][2] = {};
        for (int k = 0; k < inputs; k += 4) {
            const __m128i w = _mm_loadu_si128((const __m128i*)(weight + size_t(k) * BLOCK + 16 * quarter));
            const __m128i signs = _mm_cmpgt_epi8(zero, w);
            const __m128i first = _mm_unpacklo_epi8(w, signs), second = _mm_unpackhi_epi8(w, signs);
            for (int r = 0; r < COUNT; r++) {
                const __m128i bytes = _mm_set1_epi32(four_bytes(in + r * size_t(inputs) + k));
                const __m128i four = _mm_unpacklo_epi8(bytes, zero);  // twice
                sums[r][0] = _mm_add_epi32(sums[r][0], _mm_madd_epi16(first, four));
                sums[r][1] = _mm_add_epi32(sums[r][1], _mm_madd_epi16(second, four));
            }
        }
        for (int r = 0; r < COUNT; r++) {
            const __m128 a = _mm_castsi128_ps(sums[r][0]), b = _mm_castsi128_ps(sums[r][1]);
            const __m128i even = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)), odd = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
            _mm_storeu_si128((__m128i*)total[r] + quarter, _mm_add_epi32(even, odd));
        }
    }
}
#else
template <int COUNT> APART void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    int32_t sums[COUNT][BLOCK] = {};
    for (int k = 0; k < inputs; k += 4)
        for (int r = 0; r < COUNT; r++)
            for (int column = 0; column < BLOCK; column++)
                for (int i = 0; i < 4; i++)
                    sums[r][column] += in[r * size_t(inputs) + k + i] * weight[(k / 4 * BLOCK + column) * 4 + i];
    std::memcpy(total, sums, sizeof sums);
}
#endif

// Rows as a linear layer reads them: rounded to bytes, x = low + step · byte, or as they are.
struct Input {
    const float* floats = nullptr;
    Array<uint8_t> bytes;
    Array<float> step, low;

    void read(const float* x, int rows, int width, bool rounded) {
        floats = x;
        if (!rounded) return;
        bytes.reserve(size_t(rows) * width), step.reserve(rows), low.reserve(rows);
        for (int r = 0; r < rows; r++) round(x + size_t(r) * width, width, bytes.get() + size_t(r) * width, r);
    }

    void round(const float* x, int width, uint8_t* to, int row) {
        Floats least{}, most{};  // 0 is always among what can be said exactly enough
        for (int i = 0; i < width; i += LANES) {
            least = smaller(least, load(x + i));
            most = larger(most, load(x + i));
        }
        const float bottom = -largest_of(-least), range = largest_of(most) - bottom;
        const float up = range > 0 ? LEVELS / range : 0;
        low.get()[row] = bottom;
        step.get()[row] = range / LEVELS;
        for (int i = 0; i < width; i += LANES) {
            const Ints whole = __builtin_convertvector((load(x + i) - bottom) * up + 0.5f, Ints);
            *reinterpret_cast<LooseBytes*>(to + i) = bytes_of(whole);
        }
    }
};

// Columns first … last of x W + b, at to[row · stride + column − first].
struct Product {
    const Linear& linear;
    const Input& input;
    float* to;
    size_t stride;
    int activation;

#if defined(__AVX512VNNI__)
    // COUNT rows and so many blocks of 16 columns, all in registers: the sums, and what becomes of them.
    template <int COUNT, int BLOCKS> APART void in_registers(int row, int column, float* at) const {
        const int inputs = linear.inputs;
        const uint8_t* in = input.bytes.get() + size_t(row) * inputs;
        const int8_t* weight = (const int8_t*)linear.weight + size_t(column) * inputs;
        __m512i sums[COUNT][BLOCKS];
        for (int r = 0; r < COUNT; r++)
            for (int b = 0; b < BLOCKS; b++) sums[r][b] = _mm512_setzero_si512();
        if (COUNT * BLOCKS == 1) sums[0][0] = one_row(in, inputs, weight);
        for (int k = COUNT * BLOCKS == 1 ? inputs : 0; k < inputs; k += 4) {
            __m512i w[BLOCKS];
            for (int b = 0; b < BLOCKS; b++) w[b] = _mm512_loadu_si512(weight + size_t(k + b * inputs) * BLOCK);
            for (int r = 0; r < COUNT; r++) {
                const __m512i four = _mm512_set1_epi32(four_bytes(in + r * size_t(inputs) + k));
                for (int b = 0; b < BLOCKS; b++) sums[r][b] = plus_products(sums[r][b], four, w[b]);
            }
        }
        for (int b = 0; b < BLOCKS; b++) {
            const int c = column + b * BLOCK;
            const __m512 scale = _mm512_loadu_ps(linear.scale + c), sum = _mm512_loadu_ps(linear.sum + c);
            const __m512 bias = linear.bias ? _mm512_loadu_ps(linear.bias + c) : _mm512_setzero_ps();
            for (int r = 0; r < COUNT; r++) {
                const __m512 step = _mm512_set1_ps(input.step.get()[row + r]), low = _mm512_set1_ps(input.low.get()[row + r]);
                const __m512 rest = _mm512_fmadd_ps(low, sum, bias);
                __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][b]), _mm512_mul_ps(step, scale), rest);
                if (activation == RELU) y = _mm512_max_ps(y, _mm512_setzero_ps());
                float* to = at + r * stride + b * BLOCK;
                _mm512_storeu_ps(to, y);
                if (activation > RELU)
                    for (int half = 0; half < BLOCK; half += LANES) store(to + half, activated(load(to + half), activation));
            }
        }
    }

    // One row alone would wait for its sum: there are four. Several blocks at once would read memory in several places.
    static __m512i one_row(const uint8_t* in, int inputs, const int8_t* weight) {
        __m512i sums[4];
        for (auto& sum : sums) sum = _mm512_setzero_si512();
        for (int k = 0; k < inputs; k += 16)
            for (int i = 0; i < 4; i++) {
                const __m512i four = _mm512_set1_epi32(four_bytes(in + k + 4 * i));
                sums[i] = plus_products(sums[i], four, _mm512_loadu_si512(weight + size_t(k + 4 * i) * BLOCK));
            }
        return _mm512_add_epi32(_mm512_add_epi32(sums[0], sums[1]), _mm512_add_epi32(sums[2], sums[3]));
    }

    template <int COUNT> void rows(int row, int column, float* at, int group, int groups, int blocks) const {
        if (!linear.scale) rows<COUNT>(row, column, at, group, groups);
        else if (COUNT == 1 || blocks == 1) in_registers<COUNT, 1>(row, column, at);
        else in_registers<COUNT, 2>(row, column, at);
    }

    int blocks_together(int count, int left) const { return linear.scale && count > 1 && left > 1 ? 2 : 1; }
#else
    template <int COUNT> void rows(int row, int column, float* at, int group, int groups, int) const {
        rows<COUNT>(row, column, at, group, groups);
    }

    int blocks_together(int, int) const { return 1; }
#endif

    template <int COUNT> void rows(int row, int column, float* at, int group, int groups) const {
        const size_t start = size_t(row) * linear.inputs, block = size_t(column) * linear.inputs;
        Floats y[COUNT][2];
        if (linear.scale) {
            Ints total[COUNT][2];
            products<COUNT>(input.bytes.get() + start, linear.inputs, (const int8_t*)linear.weight + block, total);
            for (int r = 0; r < COUNT; r++)
                for (int half = 0; half < 2; half++) {
                    const int c = column + LANES * half;
                    y[r][half] = __builtin_convertvector(total[r][half], Floats) *
                                     (input.step.get()[row + r] * load(linear.scale + c)) +
                                 input.low.get()[row + r] * load(linear.sum + c);
                }
        } else {
            const float* weight = (const float*)linear.weight + block;
            const size_t skipped = size_t(linear.inputs) * (groups + group) / groups;
            const Ahead ahead{weight + skipped * BLOCK, (BLOCK + groups - 1) / groups};
            products<COUNT>(input.floats + start, linear.inputs, weight, ahead, y);
        }
        for (int r = 0; r < COUNT; r++)
            for (int half = 0; half < 2; half++) {
                Floats found = y[r][half];
                if (linear.bias) found += load(linear.bias + column + LANES * half);
                store(at + r * stride + LANES * half, activated(found, activation));
            }
    }

    void columns(int count, int first, int last) const {
        const int groups = (count + ROWS - 1) / ROWS;  // of about the same size: two rows alone take as long as four
        for (int column = first, blocks; column < last; column += blocks * BLOCK) {
            blocks = blocks_together((count + groups - 1) / groups, (last - column) / BLOCK);
            for (int group = 0; group < groups; group++) {
                const int row = count * group / groups;
                float* at = to + size_t(row) * stride + column - first;
                switch (count * (group + 1) / groups - row) {
                    case 1: rows<1>(row, column, at, group, groups, blocks); break;
                    case 2: rows<2>(row, column, at, group, groups, blocks); break;
                    case 3: rows<3>(row, column, at, group, groups, blocks); break;
                    case 4: rows<4>(row, column, at, group, groups, blocks); break;
                    case 5: rows<5>(row, column, at, group, groups, blocks); break;
                    case 6: rows<6>(row, column, at, group, groups, blocks); break;
#if defined(__AVX512VNNI__)
                    case 7: rows<7>(row, column, at, group, groups, blocks); break;
#endif
                    default: rows<ROWS>(row, column, at, group, groups, blocks);
                }
            }
        }
    }
};

}  // namespace
