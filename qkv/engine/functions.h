// The functions that Python calls. kernel.cpp is compiled once for every instruction-set level and defines one table of
// them each time; dispatch.cpp chooses a table. Both sides see models, requests and sessions as opaque pointers.

#pragma once

#include <cstdint>

enum Status : int32_t { OK, NO_MEMORY, FAILED };

// Attention in training: see training.h.
struct TrainingAttention {
    int64_t sentences, queries, keys, heads, width;  // width of a head
    int64_t q_stride, k_stride, v_stride;            // from one position to the next
    int64_t mask_sentence, mask_query;               // the same of the mask, 0 where it has one for all
    const float* rotation;                           // (positions, 2, width) of cosines and sines, or null
};

struct Functions {
    void* (*begin)(const void* model, const int32_t* ids, const int32_t* lengths, int32_t sentences, int32_t look_block,
                   int32_t threads);  // null if memory is short
    void (*end)(void* session);
    Status (*step)(void* session, const int32_t* ids, int32_t positions, float* logits);
    Status (*select)(void* session, const int32_t* rows, int32_t count);
    const float* (*looked)(void* session);
    Status (*search)(void* session, const void* wish, int32_t longest, int32_t* ids, float* gains, int32_t* counts,
                     double* scores, int32_t* finished);
    Status (*encode)(const void* model, const int32_t* ids, const int32_t* segments, const int32_t* lengths, int32_t texts,
                     int32_t pooling, int32_t threads, float* to);
    int32_t (*has_int16)();
    Status (*multiply_int16)(const float* a, int64_t a_stride, int32_t a_along, const float* b, int64_t b_stride,
                             int32_t b_along, float* c, int64_t c_stride, int64_t m, int64_t n, int64_t k, int32_t add,
                             const float* bias);
    Status (*read)(void* session, const int32_t* ids, int32_t positions, float* states, float* logits);
    Status (*watch)(void* session, const int32_t* heads, int32_t count);
    Status (*attention_of)(void* session, int32_t sentence, int32_t rank, float* to);
    Status (*output_loss)(const float* hidden, const float* weight, const int64_t* targets, int64_t rows, int64_t vocab,
                          int64_t width, float on_target, float on_every, float* by_hidden, float* by_weight, double* total);
    Status (*orthogonalise)(float* matrices, int64_t count, int64_t rows, int64_t columns, float linear, float cubic,
                            float quintic, int32_t times);
    Status (*attend)(const TrainingAttention* given, const float* q, const float* k, const float* v, const float* mask,
                     float* z, float* weights);
    Status (*attend_backward)(const TrainingAttention* given, const float* q, const float* k, const float* v,
                              const float* weights, const float* by_z, float* by_q, float* by_k, float* by_v);
    void (*add_dropped)(const float* x, const float* y, const uint8_t* bytes, int32_t least, float factor, int64_t count,
                        float* to);
    void (*normalise_rows)(const float* x, const float* weight, const float* bias, float epsilon, int64_t rows,
                           int32_t width, float* y, float* kept);
    void (*normalise_rows_backward)(const float* x, const float* weight, const float* kept, const float* by_y, int64_t rows,
                                    int32_t width, float* by_x, float* by_weight, float* by_bias);
    Status (*join)(void* session, void* other);
    Status (*draft)(void* session, void* drafter);
    void* (*open_shortlist)(const void* model, const int32_t* offsets, const int32_t* tokens, const int32_t* always,
                            int32_t count);  // null if memory is short
    void (*close_shortlist)(void* shortlist);
};

// The table of one level: functions_avx2 and so on.
#define QKV_JOIN(a, b) a##b
#define QKV_TABLE(level) QKV_JOIN(functions_, level)
