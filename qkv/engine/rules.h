// Rules for the next id of a hypothesis, as in qkv/decoding/rules.py and qkv/decoding/constraints.py.

#pragma once

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "session.h"
#include "shortlist.h"

namespace {

constexpr float FORCED_FLOOR = -1e4f;  // the lowest score of a forced id

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
    const int16_t* automata;     // (phrases, states, vocab) of banned phrases, like `automaton`; or null
    int32_t states;              // of each of them
    const int32_t* own;          // rules of each sentence, see OwnRules; or null
    const uint8_t* starts;       // (vocab) 0 for ids that continue a word; null without required phrases
};

using Ids = std::vector<int32_t>;

// Rules of one sentence.
struct OwnRules {
    Ids prefix, avoid;        // its first ids; the numbers of its banned phrases
    std::vector<Ids> phrases;  // that it must contain
    int once = 0;             // so many of them, the first ones, must not come twice

    // Reads them from where Python wrote them, and moves on. Every list has its length before it.
    explicit OwnRules(const int32_t*& from) {
        prefix = list(from), avoid = list(from);
        once = *from++;
        for (int left = *from++; left; left--) phrases.push_back(list(from));
    }

    static Ids list(const int32_t*& from) {
        const int32_t* first = from + 1;
        from = first + *from;
        return Ids(first, from);
    }
};

// How far a hypothesis is with a phrase.
struct Progress {
    bool met;   // the phrase occurs
    bool just;  // its last id is the newest
    int begun;  // the hypothesis ends with so many ids of it, never all

    Progress(const Ids& phrase, const Ids& ids) {
        const int size = int(phrase.size()), said = int(ids.size());
        const auto ends_with = [&](int count) { return std::equal(ids.end() - count, ids.end(), phrase.begin()); };
        met = std::search(ids.begin(), ids.end(), phrase.begin(), phrase.end()) != ids.end();
        just = size <= said && ends_with(size);
        begun = std::min(size - 1, said);
        while (begun && !ends_with(begun)) begun--;
    }
};

// How many ids of its phrases a hypothesis contains.
int level_of(const std::vector<Ids>& phrases, const Ids& ids) {
    int whole = 0, begun = 0;
    for (const Ids& phrase : phrases) {
        const Progress progress(phrase, ids);
        if (progress.met) whole += int(phrase.size());
        else begun = std::max(begun, progress.begun);
    }
    return whole + begun;
}

// An id whose logit the search needs, whether it is among the best or not.
struct Named {
    int32_t id;
    bool is_forced = false, is_lowest = false;  // a forced one may have the lowest score in any case
    float own = NEVER, allowed = NEVER, ruled = NEVER;  // logits: the model's, without required phrases, under all rules

    // Its score if it is forced, where its log-probability is known.
    float forced_score(float gain) const { return is_lowest || allowed == NEVER ? FORCED_FLOOR : std::max(gain, FORCED_FLOOR); }
};

// What a row must not or must say next because of what it has said.
struct Rules {
    const int16_t* states = nullptr;  // (vocab) of the automaton in its state
    Ids repeats;                      // ids that would repeat a sequence
    std::vector<const Ids*> banned;   // ids that would complete a banned phrase, sorted
    const uint8_t* starts = nullptr;  // a required phrase is just complete, so its word ends
    Ids kept;                         // ids that continue a word even so, for a longer phrase
    Ids excluded;                     // ids that required phrases forbid
    std::vector<Named> named;         // forced ids, and what required phrases need next
    bool is_forced = false;           // nothing but forced ids may come

    // Threads do this at the same time, each for its own tiles.
    void apply(int tile, float* logits, int real, int forbidden) {
        note(tile, logits, &Named::own);
        forbid(tile, logits, forbidden);
        if (states)
            for (int i = 0; i < real; i++)
                if (states[tile * TILE + i] < 0) logits[i] = NEVER;
        for (const int32_t id : repeats) forbid(tile, logits, id);
        for (const Ids* ids : banned)
            for (auto id = std::lower_bound(ids->begin(), ids->end(), tile * TILE); id != ids->end() && *id / TILE == tile; id++)
                logits[*id % TILE] = NEVER;
        note(tile, logits, &Named::allowed);
        if (is_forced) std::fill_n(logits, real, NEVER);  // the search takes what was noted
        if (starts) end_word(tile, logits, real);
        for (const int32_t id : excluded) forbid(tile, logits, id);
        note(tile, logits, &Named::ruled);
    }

  private:
    static void forbid(int tile, float* logits, int id) {
        if (id >= 0 && id / TILE == tile) logits[id % TILE] = NEVER;
    }

    void note(int tile, const float* logits, float Named::*what) {
        for (Named& each : named)
            if (each.id / TILE == tile) each.*what = logits[each.id % TILE];
    }

    void end_word(int tile, float* logits, int real) {
        for (int i = 0; i < real; i++)
            if (!starts[tile * TILE + i] && std::find(kept.begin(), kept.end(), tile * TILE + i) == kept.end()) logits[i] = NEVER;
    }
};

// The rules of all sentences of a search.
class Guide {
  public:
    Guide(const Wish& wish, int sentences, int vocab) : wish(wish), vocab(vocab) {
        const int32_t* from = wish.own;
        for (int s = 0; from && s < sentences; s++) own.emplace_back(from);
    }

    bool has_rules() const { return wish.no_repeat || wish.automaton || wish.own; }

    const std::vector<Ids>& phrases_of(int sentence) const {
        static const std::vector<Ids> none;
        return own.empty() ? none : own[sentence].phrases;
    }

    Rules after(const Ids& ids, int sentence) {
        Rules rules;
        if (wish.automaton) rules.states = wish.automaton + size_t(state_after(wish.automaton, ids)) * vocab;
        add_repeats(ids, rules);
        if (own.empty()) return rules;
        const OwnRules& mine = own[sentence];
        for (const int32_t phrase : mine.avoid) rules.banned.push_back(&banned_after(phrase, ids));
        const int forced = ids.size() < mine.prefix.size() ? mine.prefix[ids.size()] : -1;
        rules.is_forced = forced >= 0;
        if (!mine.phrases.empty()) require(mine, ids, wish.limits[sentence], forced, rules);
        else if (rules.is_forced) rules.named.push_back({forced, true});
        return rules;
    }

  private:
    int state_after(const int16_t* automaton, const Ids& ids) const {
        int state = 0;
        for (const int32_t id : ids) state = std::max(0, int(automaton[size_t(state) * vocab + id]));
        return state;
    }

    void add_repeats(const Ids& ids, Rules& rules) const {
        const int before = wish.no_repeat - 1, said = int(ids.size());  // ids that come before the last of a sequence
        if (before >= 0)
            for (int at = 0; at + before < said; at++)
                if (std::equal(ids.end() - before, ids.end(), ids.begin() + at)) rules.repeats.push_back(ids[at + before]);
    }

    // What the automaton of a banned phrase excludes in a state is looked up once.
    const Ids& banned_after(int phrase, const Ids& ids) {
        const int16_t* automaton = wish.automata + size_t(phrase) * wish.states * vocab;
        const int state = state_after(automaton, ids);
        const auto [place, is_new] = banned.try_emplace(phrase * wish.states + state);
        if (is_new)
            for (int id = 0; id < vocab; id++)
                if (automaton[size_t(state) * vocab + id] < 0) place->second.push_back(id);
        return place->second;
    }

    // Required phrases. A prefix forces an id, or -1.
    void require(const OwnRules& mine, const Ids& ids, int limit, int forced, Rules& rules) const {
        int missing = 0, furthest = -1;
        std::vector<Progress> each;
        bool just = false;
        for (const Ids& phrase : mine.phrases) {
            each.emplace_back(phrase, ids);
            just |= each.back().just;
            if (each.back().met) continue;
            missing += int(phrase.size()), furthest = std::max(furthest, each.back().begun);
        }
        // If the remaining room is just enough for the missing phrases, nothing else may come, and a phrase once begun is finished.
        const bool is_tight = missing && limit - int(ids.size()) <= missing + 1;
        for (size_t at = 0; at < each.size(); at++) {
            const Ids& phrase = mine.phrases[at];
            const Progress& progress = each[at];
            const int32_t next = phrase[progress.begun];
            if (!progress.met) {
                const bool is_forced = is_tight && progress.begun == furthest;
                rules.named.push_back({next, is_forced, is_forced && forced >= 0 && forced != next});
                if (progress.begun) rules.kept.push_back(next);
            } else if (int(at) < mine.once && progress.begun + 1 == int(phrase.size())) {
                rules.excluded.push_back(next);
            }
        }
        if (just) rules.starts = wish.starts;
        if (missing) rules.excluded.push_back(wish.end);
        if (is_tight) rules.is_forced = true;
        else if (forced >= 0 && is_possible(forced, rules)) rules.named.push_back({forced, true});
    }

    // Required phrases may exclude what a prefix forces.
    static bool is_possible(int32_t id, const Rules& rules) {
        const auto has = [&](const Ids& ids) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
        return (!rules.starts || rules.starts[id] || has(rules.kept)) && !has(rules.excluded);
    }

    const Wish& wish;
    const int vocab;
    std::vector<OwnRules> own;              // of every sentence, or none
    std::unordered_map<int, Ids> banned;    // by phrase and state; references stay valid
};

}  // namespace
