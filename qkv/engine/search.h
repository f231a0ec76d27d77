// Greedy and beam search, as in qkv/decoding, without a way back to Python.

#pragma once

#include <algorithm>
#include <cmath>

#include "ensemble.h"
#include "rules.h"
#include "shortlist.h"
#include "watching.h"

namespace {

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
    void see(int thread, int row, int tile, float* logits, int real, int never, int forbidden, Rules* rules) {
        if (never >= 0 && tile == never / TILE) logits[never % TILE] = NEVER;
        const auto forbid = [&] {
            if (rules) rules->apply(tile, logits, real, forbidden);
            else if (forbidden >= 0 && tile == forbidden / TILE) logits[forbidden % TILE] = NEVER;
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
void search_together(Session& session, const Wish& wish, Guide& guide, int most_rows, int candidates, IdsOf ids_of, Decide decide) {
    std::vector<Session*> sessions = {&session};
    sessions.insert(sessions.end(), session.others.begin(), session.others.end());
    const int tiles = (session.model.output.outputs + TILE - 1) / TILE;
    session.newest.assign(session.rows, wish.start);
    for (Session* each : sessions) reserve(each->common, each->model.decoder, most_rows);
    const bool has_rules = guide.has_rules();
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
                    rules.push_back(guide.after(ids_of(row), session.sentence[row]));
            }
            team.meet();
            const int forbidden = session.said() <= wish.least ? wish.end : -1;
            step_together(workers, sessions, *step, wish.never, [&](int row, int tile, float* sums, int real) {
                if (has_rules) rules[row].apply(tile, sums, real, forbidden);
                else if (forbidden >= 0 && tile == forbidden / TILE) sums[forbidden % TILE] = NEVER;
            });
            team.meet();
            if (index == 0) record(session), decide(*step, rules), leave = team.size > 1 && is_crowded();
            team.meet();
            if (leave || !session.rows) return;
        }
    };
    while (session.rows) together(session.threads, work);
}

// Step after step until decide, which is told what a step found and the rules of its rows, if there are any, has no rows left.
// ids_of(row) is what a row has said.
template <class Decide, class IdsOf>
void search(Session& session, const Wish& wish, Guide& guide, int most_rows, int candidates, IdsOf ids_of, Decide decide) {
    if (!session.others.empty()) return search_together(session, wish, guide, most_rows, candidates, ids_of, decide);
    const Model& model = session.model;
    Lists lists;
    if (wish.shortlist) lists.make(*wish.shortlist, session, wish.width, wish.never);
    const int most = wish.shortlist ? int(lists.longest) : model.output.outputs, tiles = (most + TILE - 1) / TILE;
    session.newest.assign(session.rows, wish.start);
    reserve(session.common, model.decoder, most_rows);
    std::unique_ptr<Step> step;
    const bool has_rules = guide.has_rules();
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
                    rules.push_back(guide.after(ids_of(row), session.sentence[row]));
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
            if (index == 0) record(session), decide(*step, rules), leave = team.size > 1 && is_crowded();
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
    Guide guide(wish, session.rows, session.model.vocab);
    search(session, wish, guide, session.rows, 1, ids_of, [&](auto& step, const std::vector<Rules>& rules) {
        const int length = session.said();
        std::vector<int32_t> going, newest;
        for (int row = 0; row < session.rows; row++) {
            const int s = session.sentence[row];
            Hypothesis& hypothesis = session.found[s][0];
            const Named* forced = rules.empty() || !rules[row].is_forced ? nullptr : &rules[row].named[0];
            const Candidate best = forced ? Candidate{forced->own, forced->id} : *step.of(row);
            const float gain = gain_of(step, row, best, wish);
            hypothesis.gains.push_back(gain);
            total[s] += forced && wish.scored ? forced->forced_score(gain) : gain;
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

// What a row may say next, best first.
template <class AnyStep>
void continue_row(AnyStep& step, int row, float score, float total, int candidates, std::vector<Continuation>& all) {
    const Candidate* list = step.of(row);
    for (int i = 0; i < candidates && list[i].id >= 0; i++) {
        const float gain = list[i].logit - total;
        all.push_back({score + gain, gain, row, list[i].id});
    }
}

// The same for a row with forced ids.
void continue_forced(const Rules& rules, int row, float score, float total, std::vector<Continuation>& all) {
    std::vector<Continuation> forced;
    for (const Named& each : rules.named) {
        const auto is_same = [&](const Continuation& one) { return one.id == each.id; };
        if (!each.is_forced || std::any_of(forced.begin(), forced.end(), is_same)) continue;
        const float gain = each.own - total;
        forced.push_back({score + each.forced_score(gain), gain, row, each.id});
    }
    std::sort(forced.begin(), forced.end(), [](auto& a, auto& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; });
    all.insert(all.end(), forced.begin(), forced.end());
}

// What is considered for required phrases in any case: what they need next, and what each row would rather say. `all` has the
// continuations of this row from `first` on.
void consider_phrases(const Rules& rules, int row, float score, float total, const std::vector<Continuation>& all, size_t first,
                      std::vector<Continuation>& needed) {
    if (first == all.size()) return;  // nothing may come
    needed.insert(needed.end(), all.begin() + first, rules.is_forced ? all.end() : all.begin() + first + 1);
    for (const Named& each : rules.named) {
        const float gain = each.own - total;
        if (each.ruled > NEVER) needed.push_back({score + gain, gain, row, each.id});
    }
}

// Each continuation once, best first; of equal ones that of the first row and id first.
void sort_once(std::vector<Continuation>& all) {
    const auto key = [](const Continuation& one) { return std::make_pair(one.row, one.id); };
    std::sort(all.begin(), all.end(), [&](auto& a, auto& b) { return key(a) < key(b); });
    all.erase(std::unique(all.begin(), all.end(), [&](auto& a, auto& b) { return key(a) == key(b); }), all.end());
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score > b.score; });
}

// The best of every level, then the second of every level, and so on: a beam has hypotheses with any number of phrase tokens.
void interleave_levels(const std::vector<Ids>& phrases, const std::vector<Path>& paths, std::vector<Continuation>& all) {
    std::vector<std::pair<int, Continuation>> ranked;
    std::vector<int> seen;  // of every level
    for (const Continuation& one : all) {
        Ids ids = paths[one.row].ids;
        ids.push_back(one.id);
        const size_t level = level_of(phrases, ids);
        if (level >= seen.size()) seen.resize(level + 1);
        ranked.push_back({seen[level]++, one});
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::transform(ranked.begin(), ranked.end(), all.begin(), [](auto& one) { return one.second; });
}

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
    Guide guide(wish, sentences, session.model.vocab);
    search(session, wish, guide, sentences * width, candidates, ids_of, [&](auto& step, const std::vector<Rules>& rules) {
        const int length = session.said();
        std::vector<int32_t> going, newest;
        std::vector<Path> grown;
        std::vector<Continuation> all, needed;
        for (int row = 0; row < session.rows;) {
            const int s = session.sentence[row];
            const std::vector<Ids>& phrases = guide.phrases_of(s);
            all.clear(), needed.clear();
            for (; row < session.rows && session.sentence[row] == s; row++) {
                const float score = paths[row].score, total = step.total(row);
                const size_t first = all.size();
                if (!rules.empty() && rules[row].is_forced) continue_forced(rules[row], row, score, total, all);
                else continue_row(step, row, score, total, candidates, all);
                if (!phrases.empty()) consider_phrases(rules[row], row, score, total, all, first, needed);
            }
            std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score > b.score; });
            all.resize(std::min(2 * size_t(width), all.size()));
            if (!phrases.empty()) {
                all.insert(all.end(), needed.begin(), needed.end());
                sort_once(all), interleave_levels(phrases, paths, all);
            }
            const int count = int(all.size());
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
            const auto top = *std::max_element(live.begin(), live.end(), [](auto* a, auto* b) { return a->score < b->score; });
            if (!enters(s, double(top->score) / wish.penalty[wish.limits[s]])) continue;
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
