// Greedy and beam search, as in qkv/decoding, without a way back to Python.

#pragma once

#include <algorithm>
#include <cmath>

#include "ensemble.h"
#include "shortlist.h"
#include "watching.h"

namespace {

struct Wish {
    const int32_t* limits;       // the most ids of every sentence
    const double* penalty;       // of every length
    int32_t start, end, least;   // nothing ends before it has so many ids
    int32_t never;               // what is never said, or -1
    int32_t width, best;
    int32_t patience;            // stop when so many have ended; 0: when nothing better can come
    int32_t no_repeat;           // no sequence of so many ids comes twice; 0: all may
    const int16_t* automaton;    // (states, vocab) the state after an id, or -1 where it must not come; or null
    const Shortlist* shortlist;  // without rules; or null
    int32_t scored;              // whether anybody reads log-probabilities; a beam needs them
};

// The ids that a row must not say next because of what it has said.
struct Rules {
    const int16_t* states = nullptr;  // (vocab) of the automaton in its state
    std::vector<int32_t> repeats;     // ids that would repeat a sequence

    void apply(int tile, float* logits, int real) const {
        if (states)
            for (int i = 0; i < real; i++)
                if (states[tile * TILE + i] < 0) logits[i] = NEVER;
        for (const int32_t id : repeats)
            if (id / TILE == tile) logits[id % TILE] = NEVER;
    }
};

Rules rules_after(const std::vector<int32_t>& ids, const Wish& wish, int vocab) {
    Rules rules;
    if (wish.automaton) {
        int state = 0;
        for (const int32_t id : ids) state = std::max(0, int(wish.automaton[size_t(state) * vocab + id]));
        rules.states = wish.automaton + size_t(state) * vocab;
    }
    const int before = wish.no_repeat - 1, said = int(ids.size());  // ids that come before the last of a sequence
    if (before >= 0)
        for (int at = 0; at + before < said; at++)
            if (std::equal(ids.end() - before, ids.end(), ids.begin() + at)) rules.repeats.push_back(ids[at + before]);
    return rules;
}

// What a step found for every row: the best ids, and what to take off a logit to have its log-probability.
class Step {
  public:
    Step(int count, int tiles, int threads, bool scored) : count(count), tiles(tiles), threads(threads), scored_(scored) {}

    void begin(int rows) {
        best.assign(size_t(threads) * rows * count, {NEVER, -1});
        largest.assign(size_t(rows) * tiles, NEVER), sums.assign(size_t(rows) * tiles, 0.0f);
        rows_ = rows;
    }

    // What is never said has no share of the probability; what is forbidden now keeps its own.
    void see(int thread, int row, int tile, float* logits, int real, int never, int forbidden, const Rules* rules) {
        if (never >= 0 && tile == never / TILE) logits[never % TILE] = NEVER;
        const auto forbid = [&] {
            if (forbidden >= 0 && tile == forbidden / TILE) logits[forbidden % TILE] = NEVER;
            if (rules) rules->apply(tile, logits, real);
        };
        look(thread, row, tile, logits, real, forbid, [&](int i) { return tile * TILE + i; });
    }

    // The same for a tile of a shortlist, which has none of what is never said.
    void see(int thread, int row, int tile, float* logits, int real, int forbidden, const int32_t* ids) {
        const auto forbid = [&] {
            for (int i = 0; forbidden >= 0 && i < real; i++)
                if (ids[i] == forbidden) logits[i] = NEVER;
        };
        look(thread, row, tile, logits, real, forbid, [&](int i) { return ids[i]; });
    }

    template <class Forbid, class IdOf>
    void look(int thread, int row, int tile, float* logits, int real, Forbid forbid, IdOf id_of) {
        for (int i = real; i % LANES; i++) logits[i] = NEVER;
        Floats most = load(logits);
        for (int i = LANES; i < real; i += LANES) most = larger(most, load(logits + i));
        const float top = largest_of(most);
        if (top == NEVER) return;  // nothing else is in this tile
        if (scored_) {
            Floats sum{};
            for (int i = 0; i < real; i += LANES) sum += exponential(load(logits + i) - top);
            largest[size_t(row) * tiles + tile] = top;
            sums[size_t(row) * tiles + tile] = sum_of(sum);
        }
        forbid();
        Candidate* list = &best[(size_t(thread) * rows_ + row) * count];
        if (top <= list[count - 1].logit) return;
        for (int i = 0; i < real; i += LANES)
            if (any(load(logits + i) > list[count - 1].logit))
                for (int j = i; j < std::min(i + LANES, real); j++) insert(list, {logits[j], id_of(j)});
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
    bool scored_;  // otherwise only the order of the ids counts
    std::vector<Candidate> best;   // (threads, rows, count) best first
    std::vector<float> largest, sums;  // (rows, tiles)
};

// What greedy search adds to the score of a hypothesis. Zero stands for it where nobody reads scores.
template <class AnyStep>
float gain_of(const AnyStep& step, int row, Candidate best, const Wish& wish) {
    return wish.scored ? best.logit - step.total(row) : best.id < 0 ? NAN : 0.0f;
}

// The same with the other models of an ensemble.
template <class Decide, class IdsOf>
void search_together(Session& session, const Wish& wish, int most_rows, int candidates, IdsOf ids_of, Decide decide) {
    std::vector<Session*> sessions = {&session};
    sessions.insert(sessions.end(), session.others.begin(), session.others.end());
    const int tiles = (session.model.output.outputs + TILE - 1) / TILE;
    session.newest.assign(session.rows, wish.start);
    for (Session* each : sessions) reserve(each->common, each->model.decoder, most_rows);
    const bool has_rules = wish.no_repeat || wish.automaton;
    std::unique_ptr<CommonStep> step;
    std::vector<Rules> rules;  // of every row
    bool leave = false;
    const auto work = [&](Team& team, int index) {
        std::deque<Worker> workers;
        for (Session* each : sessions) {
            workers.emplace_back(each->model, each->model.decoder, team, index, each->common);
            workers.back().reserve(most_rows);
        }
        if (index == 0) step = std::make_unique<CommonStep>(int(sessions.size()), candidates, tiles, team.size, most_rows);
        for (;;) {
            if (index == 0) {
                for (Session* each : sessions) each->newest = session.newest, each->prepare(1);
                step->begin(session.rows), rules.clear();
                for (int row = 0; has_rules && row < session.rows; row++)
                    rules.push_back(rules_after(ids_of(row), wish, session.model.vocab));
            }
            team.meet();
            const int forbidden = session.said() <= wish.least ? wish.end : -1;
            step_together(workers, sessions, *step, wish.never, [&](int row, int tile, float* sums, int real) {
                if (forbidden >= 0 && tile == forbidden / TILE) sums[forbidden % TILE] = NEVER;
                if (has_rules) rules[row].apply(tile, sums, real);
            });
            team.meet();
            if (index == 0) record(session), decide(*step), leave = team.size > 1 && is_crowded();
            team.meet();
            if (leave || !session.rows) return;
        }
    };
    while (session.rows) together(session.threads, work);
}

// Step after step until decide, which is told what a step found, has no rows left. ids_of(row) is what a row has said.
template <class Decide, class IdsOf>
void search(Session& session, const Wish& wish, int most_rows, int candidates, IdsOf ids_of, Decide decide) {
    if (!session.others.empty()) return search_together(session, wish, most_rows, candidates, ids_of, decide);
    const Model& model = session.model;
    Lists lists;
    if (wish.shortlist) lists.make(*wish.shortlist, session, wish.width, wish.never);
    const int most = wish.shortlist ? int(lists.longest) : model.output.outputs, tiles = (most + TILE - 1) / TILE;
    session.newest.assign(session.rows, wish.start);
    reserve(session.common, model.decoder, most_rows);
    std::unique_ptr<Step> step;
    const bool has_rules = wish.no_repeat || wish.automaton;
    std::vector<Rules> rules;  // of every row
    bool leave = false;  // start anew with fewer threads, for another program wants a core
    const auto work = [&](Team& team, int index) {
        Worker me(model, model.decoder, team, index, session.common);
        me.reserve(most_rows);
        if (index == 0) step = std::make_unique<Step>(candidates, tiles, team.size, wish.scored || candidates > 1);
        for (;;) {
            if (index == 0) {
                session.prepare(1), step->begin(session.rows);
                rules.clear();
                for (int row = 0; has_rules && row < session.rows; row++)
                    rules.push_back(rules_after(ids_of(row), wish, model.vocab));
            }
            team.meet();
            const int forbidden = session.said() <= wish.least ? wish.end : -1;
            session.pass(me, 1);
            if (wish.shortlist)
                lists.outputs(session, me, [&](int row, int tile, float* logits, int real, const int32_t* ids) {
                    step->see(index, row, tile, logits, real, forbidden, ids);
                });
            else
                session.outputs(me, 0, session.rows, [&](int row, int tile, float* logits, int real) {
                    step->see(index, row, tile, logits, real, wish.never, forbidden, has_rules ? &rules[row] : nullptr);
                });
            team.meet();
            if (index == 0) record(session), decide(*step), leave = team.size > 1 && is_crowded();
            team.meet();
            if (leave || !session.rows) return;
        }
    };
    while (session.rows) together(session.threads, work);
}

void greedy(Session& session, const Wish& wish) {
    session.found.assign(session.rows, std::vector<Hypothesis>(1));
    std::vector<double> total(session.rows, 0);
    const auto ids_of = [&](int row) -> const auto& { return session.found[session.sentence[row]][0].ids; };
    search(session, wish, session.rows, 1, ids_of, [&](auto& step) {
        const int length = session.said();
        std::vector<int32_t> going, newest;
        for (int row = 0; row < session.rows; row++) {
            const int s = session.sentence[row];
            Hypothesis& hypothesis = session.found[s][0];
            const Candidate best = *step.of(row);
            const float gain = gain_of(step, row, best, wish);
            hypothesis.gains.push_back(gain);
            total[s] += gain;
            hypothesis.score = total[s] / wish.penalty[length];
            hypothesis.finished = best.id == wish.end || best.id < 0;
            if (hypothesis.finished || length >= wish.limits[s]) remember_places(session, row, hypothesis);
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
        remember_places(session, one.row, hypothesis);
        auto& list = session.found[s];
        auto at = std::find_if(list.begin(), list.end(), [&](const Hypothesis& other) { return score > other.score; });
        list.insert(at, std::move(hypothesis));
        if (int(list.size()) > wish.best) list.pop_back();
    };
    const auto ids_of = [&](int row) -> const auto& { return paths[row].ids; };
    search(session, wish, sentences * width, candidates, ids_of, [&](auto& step) {
        const int length = session.said();
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
