// What Python hands over, and memory.

#pragma once

#include <cstdint>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>

namespace {

constexpr int LANES = 8;           // numbers in a vector
constexpr int BLOCK = 16;          // outputs that lie side by side in packed weights
#if defined(__AVX512VNNI__)
constexpr int ROWS = 8;            // rows that share one reading of the weights
#else
constexpr int ROWS = 6;
#endif
constexpr int TILE = 128;          // logits that are looked at together
constexpr int TOKENS = 256;        // of sources that are encoded together: what they need stays in a core's cache
constexpr float LEVELS = 127;      // what a rounded input can be, from 0
constexpr float NEVER = -std::numeric_limits<float>::infinity();

typedef float Floats __attribute__((vector_size(32)));
typedef int32_t Ints __attribute__((vector_size(32)));
typedef uint8_t Bytes __attribute__((vector_size(8)));
// The same in memory at any address. Only for loading and storing: clang forgets about it where a type is a template's.
typedef float LooseFloats __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint8_t LooseBytes __attribute__((vector_size(8), aligned(1), may_alias));

struct Linear {
    const void* weight;            // (outputs / 16, inputs / 4, 16, 4) of int8, or (outputs / 16, inputs, 16) of float
    const float* scale;            // of every output, where weights are int8
    const float* sum;              // of every output: its weights added up, times its scale
    const float* bias;
    int32_t inputs, outputs;
};

struct Norm {
    const float* weight;
    const float* bias;
};

struct Attention {                // or, in a decoder with a recurrent cell, its norm and its two projections
    Norm norm;
    Linear project;                // queries, and where one looks at oneself keys and values behind them
    Linear memory;                 // keys and values of what is looked at, where that is not oneself
    Linear output;
};

struct Block {
    Attention own, cross;
    Norm norm;
    Linear expand, contract;
};

struct Stack {
    const Block* blocks;
    const float* tokens;           // embeddings, (vocab, padded width)
    Norm last;                     // of pre-norm stacks
    const float* positions;        // (context, padded width), or nothing
    const float* rotation;         // (context, 2, turned), or nothing
    int32_t depth, width, heads;
    int32_t head;                  // width of a head, padded
    int32_t turned;                // … without padding, for rotations
    int32_t pre, activation, cross;
    int32_t cell;                  // a recurrent cell (cell.h) in place of looking at oneself
    float epsilon;
};

struct Model {
    Stack encoder, decoder;
    const float* segments;         // (segments, padded width) that are added to texts, or nothing
    Norm first;                    // of texts as they go in
    Linear output;
    int32_t vocab, rounded;        // rounded: weights are int8
    float token_scale;
};

int padded(int size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }

// Memory on the borders of cache lines; its content is kept by no resizing.
template <class T> class Array {
  public:
    T* reserve(size_t size) {
        if (size > capacity_) {
            data_.reset(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t(64))));
            capacity_ = size;
        }
        return data_.get();
    }
    T* get() const { return data_.get(); }

  private:
    struct Free {
        void operator()(T* data) const { ::operator delete(data, std::align_val_t(64)); }
    };
    std::unique_ptr<T, Free> data_;
    size_t capacity_ = 0;
};

}  // namespace
