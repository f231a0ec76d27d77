// The output layer for the tokens that the translation of a sentence may use, and for no others.
//
// Every sentence has its own list, so rows do not share the weights of a block of tokens. Weights lie token by token here:
// a row reads the tokens of its list wherever they are.

#pragma once

#include <cstring>
#include <vector>

#include "products.h"
#include "session.h"

namespace {

constexpr int LINE = 64;  // bytes; rows of weights begin on cache lines

// The products of COUNT rows with 16 tokens, whose weights are anywhere: total[row] has 16 sums. Weights after the last
// input are 0, so that it does not matter what is read as inputs there.
#if defined(__AVX512VNNI__)
inline __m256i both_halves(__m512i x) {
    return _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
}
#endif

#if defined(__AVX2__)
// The sums of eight vectors.
inline __m256i eight_sums(const __m256i (&x)[8]) {
    const __m256i first = _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
    const __m256i second = _mm256_hadd_epi32(_mm256_hadd_epi32(x[4], x[5]), _mm256_hadd_epi32(x[6], x[7]));
    const __m256i low = _mm256_permute2x128_si256(first, second, 0x20), high = _mm256_permute2x128_si256(first, second, 0x31);
    return _mm256_add_epi32(low, high);
}

inline __m256i one_product(const uint8_t* in, const int8_t* weight, int size) {
#if defined(__AVX512VNNI__)
    __m512i sum = _mm512_setzero_si512();
    for (int k = 0; k < size; k += 64)
        sum = plus_products(sum, _mm512_loadu_si512(in + k), _mm512_loadu_si512(weight + k));
    return both_halves(sum);
#else
    __m256i sum = _mm256_setzero_si256();
    for (int k = 0; k < size; k += 32) {
        const __m256i x = _mm256_loadu_si256((const __m256i*)(in + k)), w = _mm256_loadu_si256((const __m256i*)(weight + k));
#if defined(__AVXVNNI__)
        sum = _mm256_dpbusd_avx_epi32(sum, x, w);
#else
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
#endif
    }
    return sum;
#endif
}

inline void scattered_products(const uint8_t* in, int size, const int8_t* const (&weight)[BLOCK], Ints (&total)[2]) {
    for (int half = 0; half < 2; half++) {
        __m256i sums[LANES];
        for (int c = 0; c < LANES; c++) sums[c] = one_product(in, weight[half * LANES + c], size);
        total[half] = (Ints)eight_sums(sums);
    }
}
#else
inline void scattered_products(const uint8_t* in, int size, const int8_t* const (&weight)[BLOCK], Ints (&total)[2]) {
    for (int c = 0; c < BLOCK; c++) {
        int32_t sum = 0;
        for (int k = 0; k < size; k++) sum += int32_t(in[k]) * weight[c][k];
        total[c / LANES][c % LANES] = sum;
    }
}
#endif

inline void scattered_products(const float* in, int inputs, const float* const (&weight)[BLOCK], Floats (&total)[2]) {
    for (int c = 0; c < BLOCK; c++) {
        Floats first{}, second{};
        for (int k = 0; k < inputs; k += 2 * LANES) {
            first += load(in + k) * load(weight[c] + k);
            second += load(in + k + LANES) * load(weight[c] + k + LANES);
        }
        total[c / LANES][c % LANES] = sum_of(first + second);
    }
}

// A dictionary from Python, and the output layer's weights token by token.
class Shortlist {
  public:
    Shortlist(const Model& model, const int32_t* offsets, const int32_t* tokens, const int32_t* always, int count)
        : model_(model), offsets_(offsets), tokens_(tokens), always_(always, always + count) {
        const Linear& output = model.output;
        const size_t unit = output.scale ? 1 : sizeof(float);
        stride_ = (output.inputs * unit + LINE - 1) / LINE * LINE;
        weight_.reserve(stride_ * output.outputs);
        std::memset(weight_.get(), 0, stride_ * output.outputs);
        for (int block = 0; block < output.outputs; block += BLOCK) {
            if (output.scale) unpack<int8_t>(block, 4);
            else unpack<float>(block, 1);
        }
    }

    // What the translation of a source may use, sorted: what all may use, the source's own tokens, and their translations.
    std::vector<int32_t> ids(const int32_t* source, int length, int never) const {
        std::vector<uint64_t> is_listed(size_t(model_.vocab) / 64 + 1);
        const auto add = [&](int32_t id) { is_listed[id / 64] |= uint64_t(1) << id % 64; };
        for (const int32_t id : always_) add(id);
        for (int i = 0; i < length; i++) {
            add(source[i]);
            for (int at = offsets_[source[i]]; at < offsets_[source[i] + 1]; at++) add(tokens_[at]);
        }
        if (never >= 0) is_listed[never / 64] &= ~(uint64_t(1) << never % 64);
        std::vector<int32_t> found;
        for (size_t word = 0; word < is_listed.size(); word++)
            for (uint64_t left = is_listed[word]; left; left &= left - 1)
                found.push_back(int32_t(64 * word) + __builtin_ctzll(left));
        return found;
    }

    // Logits of a row for these tokens, at least one; up to 15 numbers behind them are written too.
    void logits(const Input& input, int row, const int32_t* tokens, int count, float* to) const {
        const Linear& output = model_.output;
        for (int from = 0; from < count; from += BLOCK) {
            int32_t ids[BLOCK];
            for (int i = 0; i < BLOCK; i++) ids[i] = tokens[std::min(from + i, count - 1)];
            Floats y[2];
            if (output.scale) {
                const int8_t* weights[BLOCK];
                for (int i = 0; i < BLOCK; i++) weights[i] = at<int8_t>(ids[i]);
                Ints total[2];
                scattered_products(input.bytes.get() + size_t(row) * output.inputs, int(stride_), weights, total);
                const float step = input.step.get()[row], low = input.low.get()[row];
                for (int half = 0; half < 2; half++)
                    y[half] = __builtin_convertvector(total[half], Floats) * (step * gather(output.scale, ids, half)) +
                              low * gather(output.sum, ids, half);
            } else {
                const float* weights[BLOCK];
                for (int i = 0; i < BLOCK; i++) weights[i] = at<float>(ids[i]);
                scattered_products(input.floats + size_t(row) * output.inputs, output.inputs, weights, y);
            }
            for (int half = 0; half < 2; half++) {
                if (output.bias) y[half] += gather(output.bias, ids, half);
                store(to + from + LANES * half, y[half]);
            }
        }
    }

  private:
    template <class T> const T* at(int32_t id) const {
        return reinterpret_cast<const T*>(weight_.get() + stride_ * size_t(id));
    }

    static Floats gather(const float* from, const int32_t (&ids)[BLOCK], int half) {
        Floats found;
        for (int i = 0; i < LANES; i++) found[i] = from[ids[half * LANES + i]];
        return found;
    }

    // Sixteen outputs that lie side by side, so many inputs of each together.
    template <class T> void unpack(int block, int together) {
        const Linear& output = model_.output;
        const T* from = static_cast<const T*>(output.weight) + size_t(block) * output.inputs;
        for (int k = 0; k < output.inputs; k += together)
            for (int c = 0; c < BLOCK; c++, from += together) {
                T* to = reinterpret_cast<T*>(weight_.get() + stride_ * size_t(block + c)) + k;
                std::memcpy(to, from, together * sizeof(T));
            }
    }

    const Model& model_;
    const int32_t *offsets_, *tokens_;
    std::vector<int32_t> always_;
    Array<uint8_t> weight_;  // (outputs, stride)
    size_t stride_ = 0;      // bytes from a token to the next
};

// The lists of the sentences of a search.
struct Lists {
    const Shortlist* shortlist = nullptr;
    std::vector<std::vector<int32_t>> ids;  // of every sentence
    size_t longest = 0;

    void make(const Shortlist& from, const Session& session, int never) {
        shortlist = &from;
        for (size_t s = 0; s < session.length.size(); s++) {
            ids.push_back(from.ids(&session.source[session.first[s]], session.length[s], never));
            longest = std::max(longest, ids.back().size());
        }
    }

    // The output layer, tile after tile of one's own share of every list: see(row, tile, logits, how many, their ids).
    template <class See> void outputs(Session& session, Worker& me, See see) const {
        me.input.read(me.x.get(), session.rows, me.wide, session.model.rounded);
        me.logits.reserve(TILE);
        for (int row = 0; row < session.rows; row++) {
            const std::vector<int32_t>& list = ids[session.sentence[row]];
            const int size = int(list.size());
            const Share own = share_of((size + TILE - 1) / TILE, 1, me.index, me.team.size);
            for (int tile = own.first; tile < own.last; tile++) {
                const int32_t* first = list.data() + tile * TILE;
                const int real = std::min(size - tile * TILE, TILE);
                shortlist->logits(me.input, row, first, real, me.logits.get());
                see(row, tile, me.logits.get(), real, first);
            }
        }
    }
};

}  // namespace
