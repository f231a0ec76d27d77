// Several models of one vocabulary that search together: the mean of their probabilities decides, as in
// qkv/decoding/step.py. Each has its own session; the first of them leads, and its rows are the rows of all.

#pragma once

#include <cmath>
#include <deque>

#include "session.h"

namespace {

// What a step of all models found for every row, as greedy and beam search read it (Step in search.h).
class CommonStep {
  public:
    CommonStep(int models, int count, int tiles, int threads, int most_rows)
        : models(models), count(count), tiles(tiles), threads(threads) {
        powers.reserve(size_t(models) * most_rows * tiles * TILE);
        largest.resize(size_t(models) * most_rows * tiles), sums.resize(largest.size()), scales.resize(largest.size());
    }

    void begin(int rows) {
        best.assign(size_t(threads) * rows * count, {NEVER, -1});
        rows_ = rows;
    }

    // The logits of one model, as powers of e. What is never said has no share of the probability.
    void see(int model, int row, int tile, const float* from, int real, int never) {
        float* to = tile_of(model, row, tile);
        std::copy_n(from, real, to);
        for (int i = real; i % LANES; i++) to[i] = NEVER;
        if (never >= 0 && tile == never / TILE) to[never % TILE] = NEVER;
        Floats most = load(to);
        for (int i = LANES; i < real; i += LANES) most = larger(most, load(to + i));
        const float top = largest_of(most);
        Floats sum{};
        for (int i = 0; i < real; i += LANES) {
            const Floats power = top > NEVER ? exponential(load(to + i) - top) : Floats{};
            store(to + i, power);
            sum += power;
        }
        const size_t at = place(model, row) * tiles + tile;
        largest[at] = top, sums[at] = sum_of(sum);
    }

    // By how much a tile's powers of one model are to be multiplied to be probabilities; after all tiles were seen.
    void add_up(int model, int row) {
        const size_t first = place(model, row) * tiles;
        const float top = *std::max_element(&largest[first], &largest[first] + tiles);
        double sum = 0;
        for (int tile = 0; tile < tiles; tile++) sum += double(sums[first + tile]) * std::exp(double(largest[first + tile] - top));
        for (int tile = 0; tile < tiles; tile++) scales[first + tile] = float(std::exp(double(largest[first + tile] - top)) / sum);
    }

    // The models' probabilities of a tile's ids, added up; the best of them for one thread. What is forbidden keeps its share.
    template <class Forbid> void choose(int thread, int row, int tile, int real, int never, Forbid forbid) {
        float* sum = tile_of(0, row, tile);
        for (int i = 0; i < real; i += LANES) {
            Floats total{};
            for (int m = 0; m < models; m++) total += load(tile_of(m, row, tile) + i) * scales[place(m, row) * tiles + tile];
            store(sum + i, total);
        }
        if (never >= 0 && tile == never / TILE) sum[never % TILE] = NEVER;
        forbid(sum);
        Candidate* list = &best[(size_t(thread) * rows_ + row) * count];
        for (int i = 0; i < real; i += LANES)
            if (any(load(sum + i) > list[count - 1].logit))
                for (int j = i; j < std::min(i + LANES, real); j++) insert(list, {sum[j], tile * TILE + j});
    }

    // The best of all threads, with logarithms.
    const Candidate* of(int row) {
        Candidate* list = &best[size_t(row) * count];
        for (int thread = 1; thread < threads; thread++)
            for (int i = 0; i < count; i++) insert(list, best[(size_t(thread) * rows_ + row) * count + i]);
        for (int i = 0; i < count; i++)
            if (list[i].id >= 0) list[i].logit = std::log(list[i].logit);
        return list;
    }

    float total(int) const { return std::log(float(models)); }

  private:
    size_t place(int model, int row) const { return size_t(model) * rows_ + row; }

    float* tile_of(int model, int row, int tile) { return powers.get() + (place(model, row) * tiles + tile) * TILE; }

    void insert(Candidate* list, Candidate one) const {
        if (!(one.logit > list[count - 1].logit)) return;
        int at = count - 1;
        for (; at > 0 && one.logit > list[at - 1].logit; at--) list[at] = list[at - 1];
        list[at] = one;
    }

    int models, count, tiles, threads, rows_ = 0;
    Array<float> powers;                       // (models, rows, tiles, TILE)
    std::vector<float> largest, sums, scales;  // (models, rows, tiles)
    std::vector<Candidate> best;               // (threads, rows, count) best first
};

// One step of all models, as one thread of a team sees it. forbid(row, tile, numbers, how many) excludes what must not come next.
template <class Forbid>
void step_together(std::deque<Worker>& workers, const std::vector<Session*>& sessions, CommonStep& step, int never, Forbid forbid) {
    Worker& me = workers.front();
    const int rows = sessions.front()->rows, models = int(sessions.size()), vocab = sessions.front()->model.vocab;
    for (int m = 0; m < models; m++) {
        sessions[m]->pass(workers[m], 1);
        sessions[m]->outputs(workers[m], 0, rows, [&](int row, int tile, const float* logits, int real) {
            step.see(m, row, tile, logits, real, never);
        });
    }
    me.team.meet();
    const Share own = share_of(models * rows, 1, me.index, me.team.size);
    for (int i = own.first; i < own.last; i++) step.add_up(i / rows, i % rows);
    me.team.meet();
    const Share tiles = share_of((vocab + TILE - 1) / TILE, 1, me.index, me.team.size);
    for (int tile = tiles.first; tile < tiles.last; tile++) {
        const int real = std::min(TILE, vocab - tile * TILE);
        for (int row = 0; row < rows; row++)
            step.choose(me.index, row, tile, real, never, [&](float* sums) { forbid(row, tile, sums, real); });
    }
}

}  // namespace
