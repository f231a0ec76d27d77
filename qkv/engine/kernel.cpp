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
#include "reading.h"

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

// The best hypotheses of every sentence: ids and gains (sentences, best, longest + 1), and how many of each.
Status search(void* given, const void* asked, int32_t longest, int32_t* ids, float* gains, int32_t* counts, double* scores,
              int32_t* finished) {
    Session& session = *static_cast<Session*>(given);
    const Wish& wish = *static_cast<const Wish*>(asked);
    return guarded(session, [&] {
        const bool is_greedy = wish.width == 1 && wish.best == 1;
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

// c (m, n) = a b, or c += a b. Where a matrix lies `along`, what is added up lies in its rows, one after another.
Status multiply_int16(const float* a, int64_t a_stride, int32_t a_along, const float* b, int64_t b_stride, int32_t b_along,
                      float* c, int64_t c_stride, int64_t m, int64_t n, int64_t k, int32_t add) {
    return guarded([&] {
        int16::multiply({a, a_stride, a_along != 0}, {b, b_stride, b_along != 0}, c, c_stride, m, n, k, add != 0);
    });
}
#else
// This level cannot compute products of floats in 16 bits.
int32_t has_int16() { return 0; }
Status multiply_int16(const float*, int64_t, int32_t, const float*, int64_t, int32_t, float*, int64_t, int64_t, int64_t, int64_t,
                      int32_t) {
    return FAILED;
}
#endif

}  // namespace

extern const Functions QKV_TABLE(QKV_LEVEL);
const Functions QKV_TABLE(QKV_LEVEL) = {begin,     end,            step, select, looked,       search, encode,
                                        has_int16, multiply_int16, read, watch,  attention_of, join,   draft};
