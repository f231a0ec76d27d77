// The fast path of translation on a CPU: the encoder, a step of the decoder, and greedy and beam search around it.
//
// Read it from below: the functions at the end are all that Python calls; a Session is one decoding of a batch; a
// Worker is one thread's view of a pass through a stack; what comes before are the few loops that take the time.
//
// Weights come packed from Python (packing.py): 16 outputs side by side, sizes rounded up to multiples of 16 with
// zeros, int8 with a scale for every output or float32. What a linear layer reads is rounded row by row to 0 … 127.
// Threads run the same code, each for its own heads and columns, and meet where one needs what another has made. Sums
// are taken in an order that depends neither on the number of threads nor on the other rows of a batch.
//
// This file is compiled once for every instruction-set level. All of it has internal linkage, so that no level calls the
// code of another; only the table at the end is visible.

#include <new>
#include <stdexcept>

#include "drafting.h"
#include "functions.h"
#include "int16.h"
#include "orthogonal.h"
#include "output_loss.h"
#include "reading.h"
#include "training.h"

namespace {

// No exception may reach Python: the process would end.
template <class Call> Status guarded(Call call) noexcept {
    try {
        call();
        return OK;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const std::length_error&) {  // a vector that could never fit
        return NO_MEMORY;
    } catch (...) {
        return FAILED;
    }
}

// After an error the state of a session is unknown: it can only be ended.
template <class Call> Status guarded(Session& session, Call call) noexcept {
    if (session.status != OK) return session.status;
    return session.status = guarded(call);
}

// Sentences one after another in ids, with their lengths; for a decoder alone, only how many there are.
void* begin(const void* given, const int32_t* ids, const int32_t* lengths, int32_t sentences, int32_t look_block,
            int32_t threads) {
    const Model* model = static_cast<const Model*>(given);
    std::unique_ptr<Session> session;
    const Status status = guarded([&] {
        session = std::make_unique<Session>(*model, threads);
        session->look_block = look_block;
        session->rows = sentences;
        session->place.resize(sentences);
        for (int s = 0; s < sentences; s++) session->sentence.push_back(s);
        if (model->encoder.depth) session->encode(ids, lengths, sentences);
    });
    return status == OK ? session.release() : nullptr;
}

void end(void* session) { delete static_cast<Session*>(session); }

// The newest ids, (positions, rows); logits of what follows the last of them, (rows, vocab).
Status step(void* given, const int32_t* ids, int32_t positions, float* logits) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { session.step(ids, positions, logits); });
}

// The same with states, (positions, rows, padded width), and logits, (positions, rows, vocab), of all positions. Either may
// be null.
Status read(void* given, const int32_t* ids, int32_t positions, float* states, float* logits) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { read_all(session, ids, positions, states, logits); });
}

Status select(void* given, const int32_t* rows, int32_t count) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { session.select(rows, count); });
}

// How every head of the chosen block has looked at the source, (rows, heads, longest).
const float* looked(void* session) { return static_cast<Session*>(session)->looked.data(); }

// The heads of the chosen block whose attention a search records.
Status watch(void* given, const int32_t* heads, int32_t count) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { session.watched.assign(heads, heads + count); });
}

// The attention that a search recorded for a hypothesis, (steps, tokens of the source).
Status attention_of(void* given, int32_t sentence, int32_t rank, float* to) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { gather_attention(session, sentence, rank, to); });
}

// Another model's session with the same sources, to search together with this one. It must outlive the search.
Status join(void* given, void* other) {
    Session& session = *static_cast<Session*>(given);
    return guarded(session, [&] { session.others.push_back(static_cast<Session*>(other)); });
}

// A smaller model's session with the same source, which drafts for greedy search. It must outlive the search.
Status draft(void* given, void* drafter) {
    static_cast<Session*>(given)->drafter = static_cast<Session*>(drafter);
    return OK;
}
// What searches need to use a shortlist. Its arrays stay where they are, as long as it is open.
void* open_shortlist(const void* model, const int32_t* offsets, const int32_t* tokens, const int32_t* always, int32_t count) {
    std::unique_ptr<Shortlist> made;
    const Status status = guarded([&] {
        made = std::make_unique<Shortlist>(*static_cast<const Model*>(model), offsets, tokens, always, count);
    });
    return status == OK ? made.release() : nullptr;
}

void close_shortlist(void* shortlist) { delete static_cast<Shortlist*>(shortlist); }

// The best hypotheses of every sentence: ids and gains (sentences, best, longest + 1), and how many of each.
Status search(void* given, const void* asked, int32_t longest, int32_t* ids, float* gains, int32_t* counts, double* scores,
              int32_t* finished) {
    Session& session = *static_cast<Session*>(given);
    const Wish& wish = *static_cast<const Wish*>(asked);
    return guarded(session, [&] {
        // Required phrases need levels of beams, also with a single one.
        const bool is_greedy = wish.width == 1 && wish.best == 1 && !wish.starts;
        if (is_greedy && session.drafter && session.rows == 1) Drafting(session, *session.drafter, wish).run();
        else if (is_greedy) greedy(session, wish);
        else beam(session, wish);
        for (size_t s = 0; s < session.found.size(); s++)
            for (size_t rank = 0; rank < session.found[s].size(); rank++) {
                const Hypothesis& each = session.found[s][rank];
                const size_t at = s * wish.best + rank;
                std::copy(each.ids.begin(), each.ids.end(), ids + at * (longest + 1));
                std::copy(each.gains.begin(), each.gains.end(), gains + at * (longest + 1));
                counts[2 * at] = int32_t(each.ids.size()), counts[2 * at + 1] = int32_t(each.gains.size());
                scores[at] = each.score, finished[at] = each.finished;
            }
    });
}

void encode_texts(const Model& model, const int32_t* ids, const int32_t* segments, const Texts& layout, int pooling,
                  int threads, float* to) {
    Common common;
    const Stack& stack = model.encoder;
    see_all(
        model, layout, common, threads,
        [&](Worker& me) {
            for (int row = 0; row < layout.count(); row++) {
                me.embed(row, ids[row], layout.position[row]);
                float* x = me.x.get() + size_t(row) * me.wide;
                const float* segment = model.segments + size_t(segments[row]) * me.wide;
                for (int i = 0; i < me.wide; i += LANES) store(x + i, load(x + i) + load(segment + i));
                normalise(x, x, model.first, stack.width, stack.epsilon);
            }
        },
        [&](Worker& me) {
            if (me.index == 0) pool(me.x.get(), layout, me.wide, pooling, to);
        });
}

// What the encoder makes of texts, (tokens or texts, padded width): their ids and segments come one text after another.
Status encode(const void* model, const int32_t* ids, const int32_t* segments, const int32_t* lengths, int32_t texts,
              int32_t pooling, int32_t threads, float* to) {
    return guarded([&] {
        encode_texts(*static_cast<const Model*>(model), ids, segments, Texts(lengths, texts), pooling, threads, to);
    });
}

#if defined(QKV_INT16)
int32_t has_int16() { return 1; }

// c (m, n) = a b, or c += a b, plus a bias for every column unless it is null. Where a matrix lies `along`, what is added up lies in its rows, one after another.
Status multiply_int16(const float* a, int64_t a_stride, int32_t a_along, const float* b, int64_t b_stride, int32_t b_along,
                      float* c, int64_t c_stride, int64_t m, int64_t n, int64_t k, int32_t add, const float* bias) {
    return guarded([&] {
        int16::multiply({a, a_stride, a_along != 0}, {b, b_stride, b_along != 0}, c, c_stride, m, n, k, add != 0,
                        int16::Part::ALL, bias);
    });
}

Status output_loss(const float* hidden, const float* weight, const int64_t* targets, int64_t rows, int64_t vocab, int64_t width,
                   float on_target, float on_every, float* by_hidden, float* by_weight, double* total) {
    return guarded([&] {
        *total = int16::output_loss({hidden, weight, targets, rows, vocab, width, on_target, on_every, by_hidden, by_weight});
    });
}

// Matrices one after another, none with more rows than columns, in place.
Status orthogonalise(float* matrices, int64_t count, int64_t rows, int64_t columns, float linear, float cubic, float quintic,
                     int32_t times) {
    return guarded([&] {
        for (int64_t i = 0; i < count; i++)
            int16::orthogonalise(matrices + i * rows * columns, rows, columns, {linear, cubic, quintic, times});
    });
}
#else
// This level cannot compute products of floats in 16 bits.
int32_t has_int16() { return 0; }
Status multiply_int16(const float*, int64_t, int32_t, const float*, int64_t, int32_t, float*, int64_t, int64_t, int64_t, int64_t,
                      int32_t, const float*) {
    return FAILED;
}
Status output_loss(const float*, const float*, const int64_t*, int64_t, int64_t, int64_t, float, float, float*, float*, double*) {
    return FAILED;
}
Status orthogonalise(float*, int64_t, int64_t, int64_t, float, float, float, int32_t) { return FAILED; }
#endif

// q and z are (sentences, queries, heads * width), k and v (sentences, keys, heads * width), all contiguous.
Status attend_in_training(const TrainingAttention* given, const float* q, const float* k, const float* v, const float* mask,
                          float* z, float* weights) {
    return guarded([&] { training::attend(*given, q, k, v, mask, z, weights); });
}

Status attend_backward(const TrainingAttention* given, const float* q, const float* k, const float* v, const float* weights,
                       const float* by_z, float* by_q, float* by_k, float* by_v) {
    return guarded([&] { training::attend_backward(*given, q, k, v, weights, by_z, by_q, by_k, by_v); });
}

}  // namespace

extern const Functions QKV_TABLE(QKV_LEVEL);
const Functions QKV_TABLE(QKV_LEVEL) = {
    begin, end, step, select, looked, search, encode, has_int16, multiply_int16, read, watch, attention_of,
    output_loss, orthogonalise, attend_in_training, attend_backward, training::add_dropped, training::normalise_rows,
    training::normalise_rows_backward, join, draft, open_shortlist, close_shortlist,
};
