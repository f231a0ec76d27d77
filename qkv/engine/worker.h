// One thread's part of a pass through a stack.

#pragma once

#include "attention.h"
#include "cell.h"
#include "products.h"
#include "threads.h"

namespace {

// What threads hand each other in one pass.
struct Common {
    Array<float> y, z, hidden;
};

// One thread's part of a pass of rows through a stack. Everyone has all of x, and computes its own heads and columns.
class Worker {
  public:
    Worker(const Model& model, const Stack& stack, Team& team, int index, Common& common)
        : model(model), stack(stack), team(team), index(index), common(common), wide(padded(stack.width)),
          inner(stack.heads * stack.head), heads(share_of(stack.heads, 1, index, team.size)),
          looks(heads.last - heads.first) {}

    void reserve(int rows) {
        x.reserve(size_t(rows) * wide), normed.reserve(size_t(rows) * wide), q.reserve(size_t(rows) * inner);
    }

    void embed(int row, int id, int position) {
        const float* token = stack.tokens + size_t(id) * wide;
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
        look(attention, rows, gather, [](int, const Looks&) {});
    }

    template <class Gather, class Note> void look_at_memory(const Attention& attention, int rows, Gather gather, Note note) {
        enter(attention.norm, rows);
        project(attention.project, rows, 0, q.get());
        look(attention, rows, gather, note);
    }

    // A recurrent cell: its states go to states, (rows, wide); before says where the state before a row's is, or nothing.
    // Rows come in the order of their positions.
    template <class Before> void recur(const Attention& cell, int rows, float* states, Before before) {
        enter(cell.norm, rows);
        const Share own = share_of(wide, BLOCK, index, team.size);
        float* gates = q.get();
        Product{cell.project, input, states + own.first, size_t(wide), NOTHING}.columns(rows, own.first, own.last);
        Product{cell.project, input, gates + own.first, size_t(wide), NOTHING}.columns(rows, wide + own.first, wide + own.last);
        for (int row = 0; row < rows; row++) {
            const size_t at = size_t(row) * wide + own.first;
            const float* past = before(row);
            advance(states + at, gates + at, past ? past + own.first : nullptr, own.last - own.first);
        }
        team.meet();
        add(rows, cell.norm, [&](size_t at) { return larger(load(states + at), Floats{}); });
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

    // Where the columns of one's own heads begin.
    int own() const { return heads.first * stack.head; }

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
            looks.fill_up();
            const size_t place = size_t(row) * inner + own();
            attend(q.get() + place, looks, looks.heads, stack.head, common.z.get() + place);
            note(row, looks);
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
        add(rows, norm, [&](size_t at) { return load(y + at); });
    }

    // What a sublayer made, by its place in (rows, wide), to what went into it; and the norm where that comes last.
    template <class Made> void add(int rows, const Norm& norm, Made made) {
        for (int r = 0; r < rows; r++) {
            float* row = x.get() + size_t(r) * wide;
            for (int i = 0; i < wide; i += LANES) store(row + i, load(row + i) + made(size_t(r) * wide + i));
            if (!stack.pre) normalise(row, row, norm, stack.width, stack.epsilon);
        }
    }
};

void reserve(Common& common, const Stack& stack, int rows) {
    common.y.reserve(size_t(rows) * padded(stack.width));
    common.z.reserve(size_t(rows) * stack.heads * stack.head);
    if (stack.depth) common.hidden.reserve(size_t(rows) * stack.blocks[0].expand.outputs);
}

}  // namespace
