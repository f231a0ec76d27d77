// Greedy search for one sentence with a smaller model that drafts: it proposes some ids one by one, and the model reads
// them at once. An id stands only where the model itself would have said it, so that the output is that of plain greedy
// search: every row is computed in the same order of sums however many rows there are. Reading the weights takes most of the
// time of a step, and the rows of a draft share one reading.

#pragma once

#include "search.h"

namespace {

constexpr int DRAFTED = ROWS - 1;      // with the certain id before them, as many rows as share one reading of the weights
constexpr float UNSURE = -0.9f;        // a draft ends after an id whose log-probability is below this: it is often wrong

class Drafting {
  public:
    Drafting(Session& session, Session& drafter, const Wish& wish) : session(session), drafter(drafter), wish(wish), guide(wish, 1, session.model.vocab) {
        session.found.assign(1, std::vector<Hypothesis>(1));
    }

    void run() {
        while (session.rows) together(session.threads, [&](Team& team, int index) { work(team, index); });
    }

  private:
    void work(Team& team, int index) {
        Worker me(session.model, session.model.decoder, team, index, session.common);
        Worker mate(drafter.model, drafter.model.decoder, team, index, drafter.common);
        me.reserve(DRAFTED + 1), mate.reserve(DRAFTED + 1);
        if (index == 0) {
            guess = std::make_unique<Step>(1, tiles_of(drafter), team.size, true);
            truth = std::make_unique<Step>(1, tiles_of(session), team.size, wish.scored);
            over = false, begin_draft();
        }
        for (;;) {
            team.meet();
            if (over) return;
            if (drafting) {
                const int count = int(drafter.newest.size());
                drafter.pass(mate, count);
                drafter.outputs(mate, count - 1, 1, [&](int, int tile, float* logits, int real) {
                    guess->see(index, 0, tile, logits, real, wish.never, forbidden_at(drafter.said()), nullptr);
                });
            } else {
                session.pass(me, int(drafted.size()) + 1);
                session.outputs(me, 0, int(drafted.size()) + 1, [&](int row, int tile, float* logits, int real) {
                    const int position = session.said() - int(drafted.size()) + row;
                    truth->see(index, row, tile, logits, real, wish.never, forbidden_at(position), has_rules() ? &rules[row] : nullptr);
                });
            }
            team.meet();
            if (index != 0) continue;
            if (drafting) draft();
            else accept(team);
        }
    }

    // What is certain, and not yet read by the drafter, goes into it.
    void begin_draft() {
        drafted.clear();
        wanted = std::min(DRAFTED, wish.limits[0] - int(ids().size()) - 1);
        if (wanted <= 0) return begin_reading();
        drafter.newest.clear();
        for (int at = drafter.said(); at <= int(ids().size()); at++) drafter.newest.push_back(at ? ids()[at - 1] : wish.start);
        drafter.prepare(int(drafter.newest.size()));
        guess->begin(1);
        drafting = true;
    }

    void draft() {
        const Candidate best = *guess->of(0);
        const bool ends = best.id < 0 || best.id == wish.end;
        if (!ends) drafted.push_back(best.id);
        if (ends || int(drafted.size()) == wanted || best.logit - guess->total(0) < UNSURE) return begin_reading();
        drafter.newest.assign(1, best.id);
        drafter.prepare(1);
        guess->begin(1);
    }

    // The last certain id and the draft go into the model.
    void begin_reading() {
        drafting = false;
        session.newest.assign(1, ids().empty() ? wish.start : ids().back());
        session.newest.insert(session.newest.end(), drafted.begin(), drafted.end());
        session.prepare(int(session.newest.size()));
        truth->begin(int(session.newest.size()));
        rules.clear();
        std::vector<int32_t> said = ids();
        for (size_t row = 0; has_rules() && row <= drafted.size(); row++) {
            rules.push_back(guide.after(said, 0));
            if (row < drafted.size()) said.push_back(drafted[row]);
        }
    }

    // As many ids as the model agrees with, and the one that it says instead or after them.
    void accept(Team& team) {
        Hypothesis& hypothesis = session.found[0][0];
        for (size_t row = 0; row <= drafted.size(); row++) {
            const int length = int(ids().size()) + 1;
            const Candidate best = *truth->of(int(row));
            const float gain = gain_of(*truth, int(row), best, wish);
            hypothesis.gains.push_back(gain);
            total += gain;
            hypothesis.score = total / wish.penalty[length];
            hypothesis.finished = best.id == wish.end || best.id < 0;
            if (!hypothesis.finished) hypothesis.ids.push_back(best.id);
            if (hypothesis.finished || length >= wish.limits[0]) {
                session.rows = 0, over = true;
                return;
            }
            if (row == drafted.size() || best.id != drafted[row]) break;
        }
        session.rewind(int(ids().size()));  // all but the last are read
        drafter.rewind(std::min(drafter.said(), int(ids().size())));
        over = team.size > 1 && is_crowded();  // start anew with fewer threads
        if (!over) begin_draft();
    }

    const std::vector<int32_t>& ids() const { return session.found[0][0].ids; }
    bool has_rules() const { return guide.has_rules(); }
    int forbidden_at(int position) const { return position <= wish.least ? wish.end : -1; }
    static int tiles_of(const Session& each) { return (each.model.output.outputs + TILE - 1) / TILE; }

    Session &session, &drafter;
    const Wish& wish;
    Guide guide;                       // a search with rules of its sentence does not draft
    std::unique_ptr<Step> guess, truth;
    std::vector<Rules> rules;          // of every row that is read
    std::vector<int32_t> drafted;
    int wanted = 0;
    double total = 0;
    bool drafting = false, over = false;
};

}  // namespace
