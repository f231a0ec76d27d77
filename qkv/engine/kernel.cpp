// The fast path of translation on a CPU: the encoder, a step of the decoder, and greedy and beam search around it.
//
// Read it from below: the functions at the end are all that Python calls; a Session is one decoding of a batch; a
// Worker is one thread's view of a pass through a stack; what comes before are the few loops that take the time.
//
// Weights come packed from Python (packing.py): 16 outputs side by side, sizes rounded up to multiples of 16 with
// zeros, int8 with a scale for every output or float32. What a linear layer reads is rounded row by row to 0 … 127.
// Threads run the same code, each for its own heads and columns, and meet where one needs what another has made. Sums
// are taken in an order that depends neither on the number of threads nor on the other rows of a batch.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <vector>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int LANES = 8;           // numbers in a vector
constexpr int BLOCK = 16;          // outputs that lie side by side in packed weights
constexpr int ROWS = 6;            // rows that share one reading of the weights
constexpr int TILE = 128;          // logits that are looked at together
constexpr float LEVELS = 127;      // what a rounded input can be, from 0
constexpr float NEVER = -std::numeric_limits<float>::infinity();

typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(32), aligned(4), may_alias));

// What Python hands over; the same structures stand in library.py ------------------------------------------------

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

struct Attention {
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
    Norm last;                     // of pre-norm stacks
    const float* positions;        // (context, padded width), or nothing
    const float* rotation;         // (context, 2, turned), or nothing
    int32_t depth, width, heads;
    int32_t head;                  // width of a head, padded
    int32_t turned;                // … without padding, for rotations
    int32_t pre, activation, cross;
    float epsilon;
};

struct Model {
    Stack encoder, decoder;
    const float* tokens;           // (vocab, padded width)
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

// Vectors --------------------------------------------------------------------------------------------------------

inline Floats load(const float* from) { return *reinterpret_cast<const Floats*>(from); }
inline void store(float* to, Floats x) { *reinterpret_cast<Floats*>(to) = x; }
inline Floats all(float x) { return Floats{} + x; }
inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }
inline Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
inline float sum_of(Floats x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

inline float largest_of(Floats x) {
    float largest = x[0];
    for (int i = 1; i < LANES; i++) largest = std::max(largest, x[i]);
    return largest;
}

inline bool any(Ints x) {
#if defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)x) != 0;
#else
    return (x[0] | x[1] | x[2] | x[3] | x[4] | x[5] | x[6] | x[7]) != 0;
#endif
}

// e to the x: 2 to a whole number, times a polynomial for the rest (relative error below 2e-7).
inline Floats exponential(Floats x) {
    x = smaller(larger(x, all(-87)), all(88));
    const Floats shifted = x * 1.44269504f + 12582912.0f;  // adding 1.5 · 2^23 leaves a whole number in the last bits
    const Floats whole = shifted - 12582912.0f;
    const Floats r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return (Floats)((Ints)p + ((Ints)shifted << 23));
}

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

// The products of COUNT rows with 16 columns of weights ----------------------------------------------------------

template <int COUNT> void products(const float* in, int inputs, const float* weight, Floats (&total)[COUNT][2]) {
    for (int r = 0; r < COUNT; r++) total[r][0] = total[r][1] = Floats{};
    for (int k = 0; k < inputs; k++) {
        const Floats first = load(weight + k * BLOCK), second = load(weight + k * BLOCK + LANES);
        for (int r = 0; r < COUNT; r++) {
            const float x = in[r * size_t(inputs) + k];
            total[r][0] += x * first;
            total[r][1] += x * second;
        }
    }
}

inline int32_t four_bytes(const uint8_t* from) {
    int32_t four;
    std::memcpy(&four, from, 4);
    return four;
}

#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))
template <int COUNT> void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    __m256i sums[COUNT][2] = {};
    for (int k = 0; k < inputs; k += 4)
        for (int r = 0; r < COUNT; r++)
            for (int half = 0; half < 2; half++) {
                const __m256i four = _mm256_set1_epi32(four_bytes(in + r * size_t(inputs) + k));
                const __m256i w = _mm256_loadu_si256((const __m256i*)(weight + k * BLOCK + 32 * half));
#if defined(__AVXVNNI__)
                sums[r][half] = _mm256_dpbusd_avx_epi32(sums[r][half], four, w);
#else
                sums[r][half] = _mm256_dpbusd_epi32(sums[r][half], four, w);
#endif
            }
    for (int r = 0; r < COUNT; r++)
        for (int half = 0; half < 2; half++) total[r][half] = (Ints)sums[r][half];
}
#elif defined(__AVX2__)
// Pairs of products are added up in 16 bits over 16 inputs, and only then widened: rounding.py has chosen the weights
// so that no such sum overflows. That saves every other multiplication.
template <int COUNT> void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i wide[COUNT][2] = {};
    for (int k = 0; k < inputs; k += 16) {
        __m256i narrow[COUNT][2];
#pragma GCC unroll 4
        for (int step = 0; step < 4; step++) {
            const int8_t* at = weight + size_t(k + 4 * step) * BLOCK;
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
            for (int half = 0; half < 2; half++)
                wide[r][half] = _mm256_add_epi32(wide[r][half], _mm256_madd_epi16(narrow[r][half], ones));
    }
    for (int r = 0; r < COUNT; r++)
        for (int half = 0; half < 2; half++) total[r][half] = (Ints)wide[r][half];
}
#else
template <int COUNT> void products(const uint8_t* in, int inputs, const int8_t* weight, Ints (&total)[COUNT][2]) {
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
            for (int lane = 0; lane < LANES; lane++) to[i + lane] = uint8_t(whole[lane]);
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

    template <int COUNT> void rows(int row, int column, float* at) const {
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
            products<COUNT>(input.floats + start, linear.inputs, (const float*)linear.weight + block, y);
        }
        for (int r = 0; r < COUNT; r++)
            for (int half = 0; half < 2; half++) {
                Floats found = y[r][half];
                if (linear.bias) found += load(linear.bias + column + LANES * half);
                store(at + r * stride + LANES * half, activated(found, activation));
            }
    }

    void columns(int count, int first, int last) const {
        for (int column = first; column < last; column += BLOCK)
            for (int row = 0; row < count; row += ROWS) {
                float* at = to + size_t(row) * stride + column - first;
                switch (std::min(ROWS, count - row)) {
                    case 1: rows<1>(row, column, at); break;
                    case 2: rows<2>(row, column, at); break;
                    case 3: rows<3>(row, column, at); break;
                    case 4: rows<4>(row, column, at); break;
                    case 5: rows<5>(row, column, at); break;
                    default: rows<ROWS>(row, column, at);
                }
            }
    }
};

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

// Threads --------------------------------------------------------------------------------------------------------

using Clock = std::chrono::steady_clock;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// When another program has kept a thread waiting, working alone for a while is faster than waiting at every meeting.
std::atomic<int64_t> alone_until{0};
constexpr int64_t ALONE = 500'000'000, TOO_LONG = 1'000'000;  // nanoseconds

int64_t now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count(); }

class Team {
  public:
    int size = 1;
    std::atomic<int> started{0};

    void meet() {
        if (size == 1) return;
        const int turn = turn_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        for (int i = 0; i < 4000; i++) {
            if (turn_.load(std::memory_order_acquire) != turn) return;
            pause();
        }
        const int64_t since = now();
        while (turn_.load(std::memory_order_acquire) == turn) std::this_thread::yield();
        if (now() - since > TOO_LONG) alone_until.store(now() + ALONE, std::memory_order_relaxed);
    }

  private:
    std::atomic<int> arrived_{0}, turn_{0};
};

// The same work in several threads, which are gone when it is done: nothing waits between calls, nothing survives a fork.
template <class Work> void together(int threads, Work work) {
    if (now() < alone_until.load(std::memory_order_relaxed)) threads = 1;
    Team team;
    std::vector<std::thread> helpers;
    std::atomic<bool> go{false};
    try {
        for (int index = 1; index < threads; index++)
            helpers.emplace_back([&, index] {
                while (!go.load(std::memory_order_acquire)) pause();
                work(team, index);
            });
    } catch (const std::exception&) {  // no more threads are to be had
    }
    team.size = 1 + int(helpers.size());
    go.store(true, std::memory_order_release);
    work(team, 0);
    for (std::thread& helper : helpers) helper.join();
}

struct Share {
    int first, last;
};

inline Share share_of(int count, int unit, int index, int size) {
    const int units = count / unit;
    return {units * index / size * unit, units * (index + 1) / size * unit};
}

// What threads hand each other in one pass.
struct Common {
    Array<float> y, z, hidden;
};

// One thread's part of a pass of rows through a stack. Everyone has all of x, and computes its own heads and columns.
class Worker {
  public:
    Worker(const Model& model, const Stack& stack, Team& team, int index, Common& common)
        : model(model), stack(stack), team(team), index(index), common(common), wide(padded(stack.width)),
          inner(stack.heads * stack.head), heads(share_of(stack.heads, 1, index, team.size)) {}

    void reserve(int rows) {
        x.reserve(size_t(rows) * wide), normed.reserve(size_t(rows) * wide), q.reserve(size_t(rows) * inner);
    }

    void embed(int row, int id, int position) {
        const float* token = model.tokens + size_t(id) * wide;
        const float* place = stack.positions ? stack.positions + size_t(position) * wide : nullptr;
        float* to = x.get() + size_t(row) * wide;
        for (int i = 0; i < wide; i++) to[i] = token[i] * model.token_scale + (place ? place[i] : 0);
    }

    // New keys and values of every row go to keys and values, (rows, inner); gather says what a row looks at.
    template <class Position, class Gather>
    void look_at_self(const Attention& attention, int rows, float* keys, float* values, Position position, Gather gather) {
        enter(attention.norm, rows);
        project(attention.project, rows, 0, q.get());
        project(attention.project, rows, inner, keys);
        project(attention.project, rows, 2 * inner, values);
        if (stack.rotation)
            for (int row = 0; row < rows; row++)
                for (float* each : {q.get(), keys})
                    rotate(each + size_t(row) * inner + heads.first * stack.head, heads.last - heads.first, stack.head,
                           stack.rotation + size_t(position(row)) * 2 * stack.turned, stack.turned);
        look(attention, rows, gather, [](int, int, const Looks&) {});
    }

    template <class Gather, class Note> void look_at_memory(const Attention& attention, int rows, Gather gather, Note note) {
        enter(attention.norm, rows);
        project(attention.project, rows, 0, q.get());
        look(attention, rows, gather, note);
    }

    void feed_forward(const Block& block, int rows) {
        enter(block.norm, rows);
        const int size = block.expand.outputs;
        const Share own = share_of(size, BLOCK, index, team.size);
        Product{block.expand, input, common.hidden.get() + own.first, size_t(size), stack.activation}.columns(
            rows, own.first, own.last);
        team.meet();
        leave(block.contract, common.hidden.get(), block.norm, rows);
    }

    void finish(int rows) {
        if (!stack.pre) return;
        for (int r = 0; r < rows; r++) {
            float* row = x.get() + size_t(r) * wide;
            normalise(row, row, stack.last, stack.width, stack.epsilon);
        }
    }

    // Products with one's own heads' part of a projection, from a column of it on.
    void project(const Linear& linear, int rows, int column, float* to) {
        const int first = heads.first * stack.head, last = heads.last * stack.head;
        Product{linear, input, to + first, size_t(inner), NOTHING}.columns(rows, column + first, column + last);
    }

    const Model& model;
    const Stack& stack;
    Team& team;
    const int index;
    Common& common;
    const int wide, inner;
    const Share heads;
    Array<float> x, normed, q, logits;
    Input input;
    Looks looks;

  private:
    void enter(const Norm& norm, int rows) {
        const float* from = x.get();
        if (stack.pre) {
            for (int r = 0; r < rows; r++)
                normalise(x.get() + size_t(r) * wide, normed.get() + size_t(r) * wide, norm, stack.width, stack.epsilon);
            from = normed.get();
        }
        input.read(from, rows, wide, model.rounded);
    }

    template <class Gather, class Note> void look(const Attention& attention, int rows, Gather gather, Note note) {
        for (int row = 0; row < rows; row++) {
            gather(row, looks);
            for (int h = heads.first; h < heads.last; h++) {
                const size_t place = size_t(row) * inner + h * stack.head;
                attend(q.get() + place, looks, h * stack.head, stack.head, common.z.get() + place);
                note(row, h, looks);
            }
        }
        team.meet();
        leave(attention.output, common.z.get(), attention.norm, rows);
    }

    // The last product of a sublayer, the shortcut around it, and the norm where that comes last.
    void leave(const Linear& linear, const float* from, const Norm& norm, int rows) {
        input.read(from, rows, linear.inputs, model.rounded);
        const Share own = share_of(wide, BLOCK, index, team.size);
        float* y = common.y.get();
        Product{linear, input, y + own.first, size_t(wide), NOTHING}.columns(rows, own.first, own.last);
        team.meet();
        for (int r = 0; r < rows; r++) {
            float* row = x.get() + size_t(r) * wide;
            for (int i = 0; i < wide; i += LANES) store(row + i, load(row + i) + load(y + size_t(r) * wide + i));
            if (!stack.pre) normalise(row, row, norm, stack.width, stack.epsilon);
        }
    }
};

void reserve(Common& common, const Stack& stack, int rows) {
    common.y.reserve(size_t(rows) * padded(stack.width));
    common.z.reserve(size_t(rows) * stack.heads * stack.head);
    if (stack.depth) common.hidden.reserve(size_t(rows) * stack.blocks[0].expand.outputs);
}

// One decoding -----------------------------------------------------------------------------------------------------

struct Hypothesis {
    std::vector<int32_t> ids;
    std::vector<float> gains;      // log-probability of every id, and of the end
    double score = 0;
    bool finished = false;
};

// Keys and values of one position in all blocks, (depth, 2, rows, inner). A row that looks back finds its own ones by
// their places: rows are copied, reordered and dropped without moving any of them.
struct Page {
    int rows;
    Array<float> numbers;
};

struct Candidate {
    float logit;
    int32_t id;
};

struct Session {
    const Model& model;
    int threads;
    int rows = 0, longest = 0;
    std::vector<int32_t> sentence;           // of every row
    std::vector<int32_t> first, length;      // of every sentence in the memory
    Array<float> memory;                     // (depth, 2, tokens, inner)
    size_t tokens = 0;
    std::vector<Page> pages;
    std::vector<std::vector<int32_t>> place;  // of every row in every page
    int look_block = -1;
    std::vector<float> looked;               // (rows, heads, longest) of the last step
    std::vector<int32_t> newest;             // ids that go in next
    std::vector<std::vector<Hypothesis>> found;
    Common common;

    int inner() const { return model.decoder.heads * model.decoder.head; }

    float* kept(int block, int which) { return memory.get() + (size_t(block) * 2 + which) * tokens * inner(); }

    void encode(const int32_t* ids, const int32_t* lengths, int sentences) {
        const Stack& stack = model.encoder;
        std::vector<int32_t> owner, position;
        for (int s = 0; s < sentences; s++) {
            first.push_back(int(owner.size())), length.push_back(lengths[s]);
            longest = std::max(longest, int(lengths[s]));
            for (int t = 0; t < lengths[s]; t++) owner.push_back(s), position.push_back(t);
        }
        tokens = owner.size();
        if (!stack.depth) return;  // nothing to look at: a decoder alone
        const int count = int(tokens), inner_size = stack.heads * stack.head;
        memory.reserve(size_t(model.decoder.depth) * 2 * tokens * inner());
        Array<float> keys, values;
        keys.reserve(size_t(count) * inner_size), values.reserve(size_t(count) * inner_size);
        reserve(common, stack, count);
        together(threads, [&](Team& team, int index) {
            Worker me(model, stack, team, index, common);
            me.reserve(count);
            for (int row = 0; row < count; row++) me.embed(row, ids[row], position[row]);
            for (int b = 0; b < stack.depth; b++) {
                me.look_at_self(
                    stack.blocks[b].own, count, keys.get(), values.get(), [&](int row) { return position[row]; },
                    [&](int row, Looks& looks) {
                        const int s = owner[row];
                        looks.resize(length[s]);
                        for (int t = 0; t < length[s]; t++) {
                            looks.keys[t] = keys.get() + size_t(first[s] + t) * inner_size;
                            looks.values[t] = values.get() + size_t(first[s] + t) * inner_size;
                        }
                    });
                me.feed_forward(stack.blocks[b], count);
            }
            me.finish(count);
            remember(me, count);
        });
    }

    // Keys and values of the source for every block of the decoder.
    void remember(Worker& encoder, int count) {
        Worker me(model, model.decoder, encoder.team, encoder.index, common);
        me.input.read(encoder.x.get(), count, encoder.wide, model.rounded);
        for (int b = 0; b < model.decoder.depth; b++)
            for (int which : {0, 1}) me.project(model.decoder.blocks[b].cross.memory, count, which * inner(), kept(b, which));
    }

    void open_page() {
        pages.emplace_back();
        pages.back().rows = rows;
        pages.back().numbers.reserve(size_t(model.decoder.depth) * 2 * rows * inner());
        for (int row = 0; row < rows; row++) place[row].push_back(row);
    }

    // The newest ids through the decoder; the page of their position is open.
    void pass(Worker& me) {
        const Stack& stack = model.decoder;
        const int position = int(pages.size()) - 1, size = inner();
        for (int row = 0; row < rows; row++) me.embed(row, newest[row], position);
        for (int b = 0; b < stack.depth; b++) {
            const Block& block = stack.blocks[b];
            float* keys = pages.back().numbers.get() + size_t(b) * 2 * rows * size;
            me.look_at_self(
                block.own, rows, keys, keys + size_t(rows) * size, [&](int) { return position; },
                [&](int row, Looks& looks) {
                    looks.resize(position + 1);
                    for (int t = 0; t <= position; t++) {
                        const size_t there = pages[t].rows, mine = place[row][t];
                        looks.keys[t] = pages[t].numbers.get() + (b * 2 * there + mine) * size;
                        looks.values[t] = looks.keys[t] + there * size;
                    }
                });
            if (stack.cross)
                me.look_at_memory(
                    block.cross, rows,
                    [&](int row, Looks& looks) {
                        const int s = sentence[row];
                        looks.resize(length[s]);
                        for (int t = 0; t < length[s]; t++) {
                            looks.keys[t] = kept(b, 0) + size_t(first[s] + t) * size;
                            looks.values[t] = kept(b, 1) + size_t(first[s] + t) * size;
                        }
                    },
                    [&](int row, int h, const Looks& looks) {
                        if (b != look_block) return;
                        float* to = looked.data() + (size_t(row) * stack.heads + h) * longest;
                        std::copy_n(looks.weights.data(), looks.count, to);
                        std::fill(to + looks.count, to + longest, 0.0f);
                    });
            me.feed_forward(block, rows);
        }
        me.finish(rows);
    }

    // The output layer, tile after tile of one's own share: see(row, tile, logits, how many).
    template <class See> void outputs(Worker& me, See see) {
        me.input.read(me.x.get(), rows, me.wide, model.rounded);
        const int tiles = (model.output.outputs + TILE - 1) / TILE;
        const Share own = share_of(tiles, 1, me.index, me.team.size);
        me.logits.reserve(size_t(rows) * TILE);
        for (int tile = own.first; tile < own.last; tile++) {
            const int column = tile * TILE, end = std::min(column + TILE, int(model.output.outputs));
            Product{model.output, me.input, me.logits.get(), TILE, NOTHING}.columns(rows, column, end);
            const int real = std::min(end, int(model.vocab)) - column;
            for (int row = 0; row < rows; row++) see(row, tile, me.logits.get() + size_t(row) * TILE, real);
        }
    }

    void select(const int32_t* wanted, int count) {
        std::vector<int32_t> sentences(count);
        std::vector<std::vector<int32_t>> places(count);
        std::vector<float> looks(look_block < 0 ? 0 : size_t(count) * model.decoder.heads * longest);
        const size_t size = size_t(model.decoder.heads) * longest;
        for (int row = 0; row < count; row++) {
            sentences[row] = sentence[wanted[row]];
            places[row] = place[wanted[row]];
            if (look_block >= 0 && !looked.empty()) std::copy_n(&looked[wanted[row] * size], size, &looks[row * size]);
        }
        sentence.swap(sentences), place.swap(places), looked.swap(looks);
        rows = count;
    }

    void prepare() {
        open_page();
        reserve(common, model.decoder, rows);
        if (look_block >= 0) looked.resize(size_t(rows) * model.decoder.heads * longest);
    }

    void step(const int32_t* ids, float* logits) {
        newest.assign(ids, ids + rows);
        prepare();
        together(threads, [&](Team& team, int index) {
            Worker me(model, model.decoder, team, index, common);
            me.reserve(rows);
            pass(me);
            if (logits)
                outputs(me, [&](int row, int tile, const float* from, int count) {
                    std::copy_n(from, count, logits + size_t(row) * model.vocab + tile * TILE);
                });
        });
    }
};

// Greedy and beam search ---------------------------------------------------------------------------------------------

struct Wish {
    const int32_t* limits;       // the most ids of every sentence
    const double* penalty;       // of every length
    int32_t start, end, least;   // nothing ends before it has so many ids
    int32_t width, best;
    int32_t patience;            // stop when so many have ended; 0: when nothing better can come
};

// What a step found for every row: the best ids, and what to take off a logit to have its log-probability.
class Step {
  public:
    Step(int count, int tiles, int threads) : count(count), tiles(tiles), threads(threads) {}

    void begin(int rows) {
        best.assign(size_t(threads) * rows * count, {NEVER, -1});
        largest.resize(size_t(rows) * tiles), sums.resize(size_t(rows) * tiles);
        rows_ = rows;
    }

    void see(int thread, int row, int tile, float* logits, int real, int forbidden) {
        for (int i = real; i % LANES; i++) logits[i] = NEVER;
        Floats most = load(logits);
        for (int i = LANES; i < real; i += LANES) most = larger(most, load(logits + i));
        const float top = largest_of(most);
        Floats sum{};
        for (int i = 0; i < real; i += LANES) sum += exponential(load(logits + i) - top);
        largest[size_t(row) * tiles + tile] = top;
        sums[size_t(row) * tiles + tile] = sum_of(sum);
        if (forbidden >= 0 && tile == forbidden / TILE) logits[forbidden % TILE] = NEVER;
        Candidate* list = &best[(size_t(thread) * rows_ + row) * count];
        if (top <= list[count - 1].logit) return;
        for (int i = 0; i < real; i += LANES)
            if (any(load(logits + i) > list[count - 1].logit))
                for (int j = i; j < std::min(i + LANES, real); j++) insert(list, {logits[j], tile * TILE + j});
    }

    void insert(Candidate* list, Candidate one) const {
        if (!(one.logit > list[count - 1].logit)) return;
        int at = count - 1;
        for (; at > 0 && one.logit > list[at - 1].logit; at--) list[at] = list[at - 1];
        list[at] = one;
    }

    // The lists of all threads as one, and the logarithm of the sum over all ids.
    const Candidate* of(int row) {
        Candidate* list = &best[size_t(row) * count];
        for (int thread = 1; thread < threads; thread++)
            for (int i = 0; i < count; i++) insert(list, best[(size_t(thread) * rows_ + row) * count + i]);
        return list;
    }

    float total(int row) const {
        const float* tops = &largest[size_t(row) * tiles];
        const float top = *std::max_element(tops, tops + tiles);
        double sum = 0;
        for (int tile = 0; tile < tiles; tile++) sum += double(sums[size_t(row) * tiles + tile]) * std::exp(double(tops[tile] - top));
        return top + float(std::log(sum));
    }

  private:
    int count, tiles, threads, rows_ = 0;
    std::vector<Candidate> best;   // (threads, rows, count) best first
    std::vector<float> largest, sums;  // (rows, tiles)
};

// Step after step until decide, which is told what a step found, has no rows left.
template <class Decide> void search(Session& session, const Wish& wish, int most_rows, int candidates, Decide decide) {
    const Model& model = session.model;
    const int tiles = (model.output.outputs + TILE - 1) / TILE;
    session.newest.assign(session.rows, wish.start);
    reserve(session.common, model.decoder, most_rows);
    std::unique_ptr<Step> step;
    together(session.threads, [&](Team& team, int index) {
        Worker me(model, model.decoder, team, index, session.common);
        me.reserve(most_rows);
        if (index == 0) step = std::make_unique<Step>(candidates, tiles, team.size);
        for (;;) {
            if (index == 0) session.prepare(), step->begin(session.rows);
            team.meet();
            const int forbidden = int(session.pages.size()) <= wish.least ? wish.end : -1;
            session.pass(me);
            session.outputs(me, [&](int row, int tile, float* logits, int real) {
                step->see(index, row, tile, logits, real, forbidden);
            });
            team.meet();
            if (index == 0) decide(*step);
            team.meet();
            if (!session.rows) return;
        }
    });
}

void greedy(Session& session, const Wish& wish) {
    session.found.assign(session.rows, std::vector<Hypothesis>(1));
    std::vector<double> total(session.rows, 0);
    search(session, wish, session.rows, 1, [&](Step& step) {
        const int length = int(session.pages.size());
        std::vector<int32_t> going, newest;
        for (int row = 0; row < session.rows; row++) {
            const int s = session.sentence[row];
            Hypothesis& hypothesis = session.found[s][0];
            const Candidate best = *step.of(row);
            const float gain = best.logit - step.total(row);
            hypothesis.gains.push_back(gain);
            total[s] += gain;
            hypothesis.score = total[s] / wish.penalty[length];
            hypothesis.finished = best.id == wish.end || best.id < 0;
            if (hypothesis.finished) continue;
            hypothesis.ids.push_back(best.id);
            if (length < wish.limits[s]) going.push_back(row), newest.push_back(best.id);
        }
        session.select(going.data(), int(going.size()));
        session.newest.swap(newest);
    });
}

struct Path {
    std::vector<int32_t> ids;
    std::vector<float> gains;
    float score = 0;
};

struct Continuation {
    float score, gain;
    int32_t row, id;
};

void beam(Session& session, const Wish& wish) {
    const int width = wish.width, sentences = session.rows;
    session.found.assign(sentences, {});
    std::vector<int> ended(sentences, 0);
    std::vector<Path> paths(sentences);
    const int candidates = std::min(2 * width, int(session.model.vocab));
    const auto enters = [&](int s, double score) {  // could it still be among the best?
        const auto& list = session.found[s];
        return int(list.size()) < wish.best || score > list.back().score;
    };
    const auto collect = [&](int s, const Continuation& one, int length) {
        const double score = double(one.score) / wish.penalty[length];
        ended[s]++;
        if (!enters(s, score)) return;
        const Path& path = paths[one.row];
        Hypothesis hypothesis{path.ids, path.gains, score, one.id == wish.end};
        hypothesis.gains.push_back(one.gain);
        if (!hypothesis.finished) hypothesis.ids.push_back(one.id);
        auto& list = session.found[s];
        auto at = std::find_if(list.begin(), list.end(), [&](const Hypothesis& other) { return score > other.score; });
        list.insert(at, std::move(hypothesis));
        if (int(list.size()) > wish.best) list.pop_back();
    };
    search(session, wish, sentences * width, candidates, [&](Step& step) {
        const int length = int(session.pages.size());
        std::vector<int32_t> going, newest;
        std::vector<Path> grown;
        std::vector<Continuation> all;
        for (int row = 0; row < session.rows;) {
            const int s = session.sentence[row];
            all.clear();
            for (; row < session.rows && session.sentence[row] == s; row++) {
                const Candidate* list = step.of(row);
                const float total = step.total(row);
                for (int i = 0; i < candidates && list[i].id >= 0; i++) {
                    const float gain = list[i].logit - total;
                    all.push_back({paths[row].score + gain, gain, row, list[i].id});
                }
            }
            const int count = std::min(2 * width, int(all.size()));
            std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score > b.score; });
            const bool last = length >= wish.limits[s];
            std::vector<const Continuation*> live;
            for (int place = 0; place < count; place++) {
                const Continuation& one = all[place];
                const bool ends = one.id == wish.end || last;
                // Only the best W may end: an end that W others beat is no likelier than what a beam would drop.
                if (ends && place < width && std::isfinite(one.score)) collect(s, one, length);
                if (!ends && int(live.size()) < width && one.score > NEVER) live.push_back(&one);
            }
            if (live.empty() || (wish.patience && ended[s] >= wish.patience)) continue;
            if (!enters(s, double(live[0]->score) / wish.penalty[wish.limits[s]])) continue;
            for (const Continuation* one : live) {
                Path path = paths[one->row];
                path.ids.push_back(one->id), path.gains.push_back(one->gain), path.score = one->score;
                grown.push_back(std::move(path));
                going.push_back(one->row), newest.push_back(one->id);
            }
        }
        session.select(going.data(), int(going.size()));
        session.newest.swap(newest), paths.swap(grown);
    });
}

}  // namespace

// What Python calls -------------------------------------------------------------------------------------------------

extern "C" {

// Sentences one after another in ids, with their lengths; for a decoder alone, only how many there are.
Session* qkv_begin(const Model* model, const int32_t* ids, const int32_t* lengths, int32_t sentences, int32_t look_block,
                   int32_t threads) {
    Session* session = new Session{*model, threads};
    session->look_block = look_block;
    session->rows = sentences;
    session->place.resize(sentences);
    for (int s = 0; s < sentences; s++) session->sentence.push_back(s);
    if (lengths) session->encode(ids, lengths, sentences);
    return session;
}

void qkv_end(Session* session) { delete session; }

// The newest ids, (rows); logits of what follows, (rows, vocab), where they are wanted.
void qkv_step(Session* session, const int32_t* ids, float* logits) { session->step(ids, logits); }

void qkv_select(Session* session, const int32_t* rows, int32_t count) { session->select(rows, count); }

// How every head of the chosen block has looked at the source, (rows, heads, longest).
const float* qkv_looked(Session* session) { return session->looked.data(); }

// The best hypotheses of every sentence: ids and gains (sentences, best, longest + 1), and how many of each.
void qkv_search(Session* session, const Wish* wish, int32_t longest, int32_t* ids, float* gains, int32_t* counts,
                double* scores, int32_t* finished) {
    if (wish->width == 1 && wish->best == 1) greedy(*session, *wish);
    else beam(*session, *wish);
    for (size_t s = 0; s < session->found.size(); s++)
        for (size_t rank = 0; rank < session->found[s].size(); rank++) {
            const Hypothesis& each = session->found[s][rank];
            const size_t at = s * wish->best + rank;
            std::copy(each.ids.begin(), each.ids.end(), ids + at * (longest + 1));
            std::copy(each.gains.begin(), each.gains.end(), gains + at * (longest + 1));
            counts[2 * at] = int32_t(each.ids.size()), counts[2 * at + 1] = int32_t(each.gains.size());
            scores[at] = each.score, finished[at] = each.finished;
        }
}

}  // extern "C"
