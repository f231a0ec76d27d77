// What Python calls. Every call goes to the functions of one instruction-set level: the best that this processor supports,
// or the one that qkv_use_level has chosen.
//
// This file is compiled without any instruction set beyond the baseline. It must also come before the levels when linking,
// and they from the lowest to the highest: if several of them contain the same function of the standard library, linkers
// keep the first copy, which then runs on every processor that can reach it.

#include <atomic>
#include <cstring>

#include "functions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

namespace {

#if defined(__x86_64__)
struct Registers {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned part) {
    Registers found;
    __get_cpuid_count(leaf, part, &found.a, &found.b, &found.c, &found.d);
    return found;
}

bool has(unsigned word, int bit) { return word >> bit & 1; }

// Which registers the system saves when it switches between programs. A level may use only registers that it saves.
uint64_t saved_registers() {
    if (!has(cpuid(1, 0).c, 27)) return 0;
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

bool saves(uint64_t wanted) { return (saved_registers() & wanted) == wanted; }
constexpr uint64_t YMM = 0x6, ZMM = 0xe6;

bool fits_avx2() { return saves(YMM) && has(cpuid(1, 0).c, 12) && has(cpuid(7, 0).b, 5); }  // with FMA
bool fits_avxvnni() { return fits_avx2() && has(cpuid(7, 1).a, 4); }
bool fits_avx512() {
    const unsigned found = cpuid(7, 0).b;
    return fits_avx2() && saves(ZMM) && has(found, 16) && has(found, 17) && has(found, 30) && has(found, 31);  // F DQ BW VL
}
bool fits_avx512vnni() { return fits_avx512() && has(cpuid(7, 0).c, 11); }
#elif defined(__aarch64__) && defined(__linux__)
bool fits_dotprod() { return getauxval(AT_HWCAP) >> 20 & 1; }
#elif defined(__aarch64__)
bool fits_dotprod() { return true; }  // every Apple processor of this family
#endif

bool fits_baseline() { return true; }
bool fits_native() { return true; }  // compiled on the machine that runs it

struct Level {
    const char* name;
    bool (*fits)();
    const Functions* functions;
};

}  // namespace

// QKV_LEVELS comes from the command line: LEVEL(baseline) LEVEL(avx2) …, the lowest first.
#define LEVEL(name) extern const Functions QKV_TABLE(name);
QKV_LEVELS
#undef LEVEL

namespace {

#define LEVEL(name) {#name, fits_##name, &QKV_TABLE(name)},
const Level LEVELS[] = {QKV_LEVELS};
#undef LEVEL

const Level* best() {
    const Level* found = LEVELS;
    for (const Level& level : LEVELS)
        if (level.fits()) found = &level;
    return found;
}

std::atomic<const Level*>& chosen() {
    static std::atomic<const Level*> level{best()};
    return level;
}

const Functions& now() { return *chosen().load(std::memory_order_relaxed)->functions; }

}  // namespace

extern "C" {

// The name of a level that this processor supports, counted from the lowest, or null.
EXPORT const char* qkv_level(int32_t index) {
    for (const Level& level : LEVELS)
        if (level.fits() && index-- == 0) return level.name;
    return nullptr;
}

EXPORT const char* qkv_used_level() { return chosen().load()->name; }

// Take another level for what begins from now on: 1, or 0 if this processor does not support it.
EXPORT int32_t qkv_use_level(const char* name) {
    for (const Level& level : LEVELS)
        if (std::strcmp(level.name, name) == 0 && level.fits()) {
            chosen().store(&level);
            return 1;
        }
    return 0;
}

EXPORT void* qkv_begin(const void* model, const int32_t* ids, const int32_t* lengths, int32_t sentences, int32_t look_block,
                       int32_t threads) {
    return now().begin(model, ids, lengths, sentences, look_block, threads);
}

EXPORT void qkv_end(void* session) { now().end(session); }

EXPORT Status qkv_step(void* session, const int32_t* ids, int32_t positions, float* logits) {
    return now().step(session, ids, positions, logits);
}

EXPORT Status qkv_select(void* session, const int32_t* rows, int32_t count) { return now().select(session, rows, count); }

EXPORT Status qkv_read(void* session, const int32_t* ids, int32_t positions, float* states, float* logits) {
    return now().read(session, ids, positions, states, logits);
}

EXPORT Status qkv_watch(void* session, const int32_t* heads, int32_t count) { return now().watch(session, heads, count); }

EXPORT Status qkv_attention_of(void* session, int32_t sentence, int32_t rank, float* to) {
    return now().attention_of(session, sentence, rank, to);
}

EXPORT Status qkv_join(void* session, void* other) { return now().join(session, other); }

EXPORT Status qkv_draft(void* session, void* drafter) { return now().draft(session, drafter); }
EXPORT void* qkv_open_shortlist(const void* model, const int32_t* offsets, const int32_t* tokens, const int32_t* always,
                                int32_t count) {
    return now().open_shortlist(model, offsets, tokens, always, count);
}

EXPORT void qkv_close_shortlist(void* shortlist) { now().close_shortlist(shortlist); }

EXPORT const float* qkv_looked(void* session) { return now().looked(session); }

EXPORT Status qkv_search(void* session, const void* wish, int32_t longest, int32_t* ids, float* gains, int32_t* counts,
                         double* scores, int32_t* finished) {
    return now().search(session, wish, longest, ids, gains, counts, scores, finished);
}

EXPORT Status qkv_encode(const void* model, const int32_t* ids, const int32_t* segments, const int32_t* lengths,
                         int32_t texts, int32_t pooling, int32_t threads, float* to) {
    return now().encode(model, ids, segments, lengths, texts, pooling, threads, to);
}

EXPORT int32_t qkv_has_int16() { return now().has_int16(); }

EXPORT Status qkv_multiply_int16(const float* a, int64_t a_stride, int32_t a_along, const float* b, int64_t b_stride,
                                 int32_t b_along, float* c, int64_t c_stride, int64_t m, int64_t n, int64_t k, int32_t add,
                                 const float* bias) {
    return now().multiply_int16(a, a_stride, a_along, b, b_stride, b_along, c, c_stride, m, n, k, add, bias);
}

EXPORT Status qkv_output_loss(const float* hidden, const float* weight, const int64_t* targets, int64_t rows, int64_t vocab,
                              int64_t width, float on_target, float on_every, float* by_hidden, float* by_weight,
                              double* total) {
    return now().output_loss(hidden, weight, targets, rows, vocab, width, on_target, on_every, by_hidden, by_weight, total);
}

EXPORT Status qkv_orthogonalise(float* matrices, int64_t count, int64_t rows, int64_t columns, float linear, float cubic,
                                float quintic, int32_t times) {
    return now().orthogonalise(matrices, count, rows, columns, linear, cubic, quintic, times);
}

EXPORT Status qkv_attend(const TrainingAttention* given, const float* q, const float* k, const float* v, const float* mask,
                         float* z, float* weights) {
    return now().attend(given, q, k, v, mask, z, weights);
}

EXPORT Status qkv_attend_backward(const TrainingAttention* given, const float* q, const float* k, const float* v,
                                  const float* weights, const float* by_z, float* by_q, float* by_k, float* by_v) {
    return now().attend_backward(given, q, k, v, weights, by_z, by_q, by_k, by_v);
}

EXPORT void qkv_add_dropped(const float* x, const float* y, const uint8_t* bytes, int32_t least, float factor,
                            int64_t count, float* to) {
    now().add_dropped(x, y, bytes, least, factor, count, to);
}

EXPORT void qkv_normalise_rows(const float* x, const float* weight, const float* bias, float epsilon, int64_t rows,
                               int32_t width, float* y, float* kept) {
    now().normalise_rows(x, weight, bias, epsilon, rows, width, y, kept);
}

EXPORT void qkv_normalise_rows_backward(const float* x, const float* weight, const float* kept, const float* by_y,
                                        int64_t rows, int32_t width, float* by_x, float* by_weight, float* by_bias) {
    now().normalise_rows_backward(x, weight, kept, by_y, rows, width, by_x, by_weight, by_bias);
}

}  // extern "C"
