// One decoding of a batch: the encoded sources, and keys and values of what was said.

#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "functions.h"
#include "texts.h"

namespace {

struct Hypothesis {
    std::vector<int32_t> ids;
    std::vector<float> gains;      // log-probability of every id, and of the end
    double score = 0;
    bool finished = false;
    std::vector<int32_t> places;   // its row at every step, where the attention of a search is recorded
};

// Keys and values in all blocks of what was read at once, (depth, 2, rows, inner), or states of recurrent cells, (depth,
// rows, wide): of one position, or of several of which each has its rows. A row that looks back finds its own ones by their places: rows are copied, reordered and dropped
// without moving any of them.
struct Page {
    int rows;
    Array<float> numbers;
};

struct Candidate {
    float logit;
    int32_t id;
};

struct Session {
    Session(const Model& model, int threads) : model(model), threads(threads) {}

    const Model& model;
    int threads;
    int rows = 0, longest = 0;
    std::vector<int32_t> sentence;           // of every row
    std::vector<int32_t> source;             // ids of all sentences, one after another
    std::vector<int32_t> first, length;      // of every sentence in the memory
    Array<float> memory;                     // (depth, 2, tokens, inner)
    size_t tokens = 0;
    std::vector<Page> pages;
    std::vector<int32_t> page;               // of every position
    std::vector<std::vector<int32_t>> place;  // of every row at every position, in the page of that
    int look_block = -1;
    std::vector<float> looked;               // (rows, heads, longest) of the last step
    std::vector<int32_t> watched;            // heads whose mean attention a search records, or none
    std::vector<std::vector<float>> history;  // of every step of a search, (rows, longest)
    std::vector<int32_t> newest;             // ids that go in next, (positions, rows)
    std::vector<std::vector<Hypothesis>> found;
    std::vector<Session*> others;            // of the other models of an ensemble (ensemble.h), which this one leads
    Session* drafter = nullptr;              // of a smaller model that proposes ids (drafting.h), or nothing
    Common common;
    Status status = OK;

    int inner() const { return model.decoder.heads * model.decoder.head; }

    // Numbers that a block keeps of a row at a position.
    size_t per_row() const { return model.decoder.cell ? padded(model.decoder.width) : 2 * inner(); }

    float* kept(int block, int which) { return memory.get() + (size_t(block) * 2 + which) * tokens * inner(); }

    void encode(const int32_t* ids, const int32_t* lengths, int sentences) {
        for (int s = 0; s < sentences; s++) {
            first.push_back(int(tokens)), length.push_back(lengths[s]);
            longest = std::max(longest, int(lengths[s]));
            tokens += lengths[s];
        }
        source.assign(ids, ids + tokens);
        memory.reserve(size_t(model.decoder.depth) * 2 * tokens * inner());
        for (int from = 0, to = 0; from < sentences; from = to) {
            for (int count = 0; to < sentences && (to == from || count + lengths[to] <= TOKENS); to++) count += lengths[to];
            encode_some(ids, from, to);
        }
    }

    void encode_some(const int32_t* ids, int from, int to) {
        const Texts texts(&length[from], to - from);
        const int start = first[from], count = texts.count();
        see_all(
            model, texts, common, threads,
            [&](Worker& me) {
                for (int row = 0; row < count; row++) me.embed(row, ids[start + row], texts.position[row]);
            },
            [&](Worker& me) { remember(me, start, count); });
    }

    // Keys and values of these places of the source for every block of the decoder.
    void remember(Worker& encoder, int start, int count) {
        Worker me(model, model.decoder, encoder.team, encoder.index, common);
        me.input.read(encoder.x.get(), count, encoder.wide, model.rounded);
        for (int b = 0; b < model.decoder.depth; b++)
            for (int which : {0, 1})
                me.project(model.decoder.blocks[b].cross.memory, count, which * inner(),
                           kept(b, which) + size_t(start) * inner());
    }

    int said() const { return int(page.size()); }

    void open_page(int positions) {
        pages.emplace_back();
        pages.back().rows = rows * positions;
        pages.back().numbers.reserve(model.decoder.depth * per_row() * rows * positions);
        for (int t = 0; t < positions; t++) {
            page.push_back(int(pages.size()) - 1);
            for (int row = 0; row < rows; row++) place[row].push_back(t * rows + row);
        }
    }

    // The state of a block's cell for a row at a position; nothing before the first.
    const float* state_of(int block, int row, int position) const {
        if (position < 0) return nullptr;
        const Page& there = pages[page[position]];
        return there.numbers.get() + (size_t(block) * there.rows + place[row][position]) * per_row();
    }

    // The newest ids through the decoder, at so many positions; the page of these is open.
    void pass(Worker& me, int positions) {
        const Stack& stack = model.decoder;
        const int before = said() - positions, count = rows * positions, size = inner();
        for (int i = 0; i < count; i++) me.embed(i, newest[i], before + i / rows);
        for (int b = 0; b < stack.depth; b++) {
            const Block& block = stack.blocks[b];
            float* keys = pages.back().numbers.get() + b * per_row() * count;
            if (stack.cell)
                me.recur(block.own, count, keys, [&](int i) { return state_of(b, i % rows, before + i / rows - 1); });
            else
                me.look_at_self(
                    block.own, count, keys, keys + size_t(count) * size, [&](int i) { return before + i / rows; },
                    [&](int i, Looks& looks) {
                        const std::vector<int32_t>& mine = place[i % rows];
                        looks.resize(before + i / rows + 1);
                        for (int t = 0; t < looks.count; t++) {
                            const Page& there = pages[page[t]];
                            looks.keys[t] = there.numbers.get() + (size_t(b) * 2 * there.rows + mine[t]) * size + me.own();
                            looks.values[t] = looks.keys[t] + size_t(there.rows) * size;
                        }
                    });
            if (stack.cross)
                me.look_at_memory(
                    block.cross, count,
                    [&](int i, Looks& looks) {
                        const int s = sentence[i % rows];
                        looks.along(kept(b, 0) + me.own(), kept(b, 1) + me.own(), first[s], length[s], size);
                    },
                    [&](int i, const Looks& looks) {
                        const int row = i - (count - rows);  // of the last position
                        if (b != look_block || row < 0) return;
                        for (int h = 0; h < looks.heads; h++) {
                            float* to = looked.data() + (size_t(row) * stack.heads + me.heads.first + h) * longest;
                            std::copy_n(looks.weights_of(h), looks.count, to);
                            std::fill(to + looks.count, to + longest, 0.0f);
                        }
                    });
            me.feed_forward(block, count);
        }
        me.finish(count);
    }

    // The output layer for some rows, tile after tile of one's own share: see(row, tile, logits, how many).
    template <class See> void outputs(Worker& me, int first, int count, See see) {
        me.input.read(me.x.get() + size_t(first) * me.wide, count, me.wide, model.rounded);
        const int tiles = (model.output.outputs + TILE - 1) / TILE;
        const Share own = share_of(tiles, 1, me.index, me.team.size);
        me.logits.reserve(size_t(count) * TILE);
        for (int tile = own.first; tile < own.last; tile++) {
            const int column = tile * TILE, end = std::min(column + TILE, int(model.output.outputs));
            Product{model.output, me.input, me.logits.get(), TILE, NOTHING}.columns(count, column, end);
            const int real = std::min(end, int(model.vocab)) - column;
            for (int row = 0; row < count; row++) see(row, tile, me.logits.get() + size_t(row) * TILE, real);
        }
    }

    // Forget what was read from this position on.
    void rewind(int length) {
        page.resize(length);
        for (std::vector<int32_t>& each : place) each.resize(length);
        pages.resize(length ? page.back() + 1 : 0);
    }

    void select(const int32_t* wanted, int count) {
        std::vector<int32_t> sentences(count);
        std::vector<std::vector<int32_t>> places(count);
        std::vector<float> looks(look_block < 0 ? 0 : size_t(count) * model.decoder.heads * longest);
        const size_t size = size_t(model.decoder.heads) * longest;
        const bool is_once = std::adjacent_find(wanted, wanted + count, std::greater_equal<>()) == wanted + count;
        for (int row = 0; row < count; row++) {
            sentences[row] = sentence[wanted[row]];
            if (is_once) places[row] = std::move(place[wanted[row]]);  // greedy search only drops rows
            else places[row] = place[wanted[row]];
            if (look_block >= 0 && !looked.empty()) std::copy_n(&looked[wanted[row] * size], size, &looks[row * size]);
        }
        sentence.swap(sentences), place.swap(places), looked.swap(looks);
        rows = count;
        for (Session* each : others) each->select(wanted, count);
    }

    void prepare(int positions) {
        open_page(positions);
        reserve(common, model.decoder, rows * positions);
        if (look_block >= 0) looked.resize(size_t(rows) * model.decoder.heads * longest);
    }

    // Ids at so many positions, as many at once as stay in a core's cache; logits of what follows the last.
    void step(const int32_t* ids, int positions, float* logits) {
        const int most = std::max(1, TOKENS / rows);
        for (int from = 0; from < positions; from += most) {
            const int now = std::min(most, positions - from);
            newest.assign(ids + size_t(from) * rows, ids + size_t(from + now) * rows);
            read(now, from + now == positions ? logits : nullptr);
        }
    }

    void read(int positions, float* logits) {
        prepare(positions);
        together(threads, [&](Team& team, int index) {
            Worker me(model, model.decoder, team, index, common);
            me.reserve(rows * positions);
            pass(me, positions);
            if (logits)
                outputs(me, (positions - 1) * rows, rows, [&](int row, int tile, const float* from, int count) {
                    std::copy_n(from, count, logits + size_t(row) * model.vocab + tile * TILE);
                });
        });
    }
};

}  // namespace
