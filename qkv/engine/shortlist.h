// The output layer for the tokens that the translation of a sentence may use, and for no others.
//
// Every sentence has its own list, and a small output layer of its own that is put together once. All of its steps, and all
// of its beams, use it like any other linear layer.

#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "products.h"
#include "session.h"

namespace {

// A dictionary from Python, and the output layer's weights token by token.
class Shortlist {
  public:
    Shortlist(const Model& model, const int32_t* offsets, const int32_t* tokens, const int32_t* always, int count)
        : model_(model), offsets_(offsets), tokens_(tokens), always_(always, always + count) {
        weight_.reserve(row() * model.output.outputs);
        for (int block = 0; block < model.output.outputs; block += BLOCK)
            for (int lane = 0; lane < BLOCK; lane++) {
                const uint8_t* from = packed() + row() * size_t(block) + PART * lane;
                uint8_t* to = weight_.get() + row() * size_t(block + lane);
                for (size_t at = 0; at < row(); at += PART) std::memcpy(to + at, from + at * BLOCK, PART);
            }
    }

    // What the translation of a source may use, sorted: what all may use, the source's own tokens, and their translations.
    std::vector<int32_t> ids(const int32_t* source, int length, int never) const {
        std::vector<uint64_t> is_listed(size_t(model_.vocab) / 64 + 1);
        const auto add = [&](int32_t id) { is_listed[id / 64] |= uint64_t(1) << id % 64; };
        for (const int32_t id : always_) add(id);
        for (int i = 0; i < length; i++) {
            add(source[i]);
            for (int at = offsets_[source[i]]; at < offsets_[source[i] + 1]; at++) add(tokens_[at]);
        }
        if (never >= 0) is_listed[never / 64] &= ~(uint64_t(1) << never % 64);
        std::vector<int32_t> found;
        for (size_t word = 0; word < is_listed.size(); word++)
            for (uint64_t left = is_listed[word]; left; left &= left - 1)
                found.push_back(int32_t(64 * word) + __builtin_ctzll(left));
        return found;
    }

    // Bytes of an output layer for so many tokens.
    size_t size_of(int count) const { return padded(count) * (row() + 3 * sizeof(float)); }

    // The output layer for these tokens, in memory of this size. What is behind the last one is that one again.
    Linear gather(const std::vector<int32_t>& ids, uint8_t* memory) const {
        const Linear& output = model_.output;
        const int count = padded(int(ids.size()));
        float* numbers = reinterpret_cast<float*>(memory + row() * count);
        Linear made{memory, nullptr, nullptr, nullptr, output.inputs, count};
        const auto pick = [&](const float* from) -> const float* {
            if (!from) return nullptr;
            for (int i = 0; i < count; i++) numbers[i] = from[id_at(ids, i)];
            numbers += count;
            return numbers - count;
        };
        made.scale = pick(output.scale), made.sum = pick(output.sum), made.bias = pick(output.bias);
        for (int block = 0; block < count; block += BLOCK)
            for (int lane = 0; lane < BLOCK; lane++) {
                const uint8_t* from = weight_.get() + row() * size_t(id_at(ids, block + lane));
                uint8_t* to = memory + row() * block + PART * lane;
                for (size_t at = 0; at < row(); at += PART) std::memcpy(to + at * BLOCK, from + at, PART);
            }
        return made;
    }

  private:
    static int32_t id_at(const std::vector<int32_t>& ids, int place) { return ids[std::min(place, int(ids.size()) - 1)]; }

    static constexpr size_t PART = 4;  // bytes of a token that lie together in packed weights: 4 inputs in int8, 1 in float32

    size_t row() const { return size_t(model_.output.inputs) * (model_.output.scale ? 1 : sizeof(float)); }
    const uint8_t* packed() const { return static_cast<const uint8_t*>(model_.output.weight); }

    const Model& model_;
    const int32_t *offsets_, *tokens_;
    std::vector<int32_t> always_;
    Array<uint8_t> weight_;  // (outputs, row)
};

// The lists of the sentences of a search. Neighbours share an output layer for all of their tokens, because a layer that is
// read for one row alone waits for memory; then each takes what is on its own list. So they do not change each other.
class Lists {
  public:
    size_t longest = 0;  // of all lists

    // As many rows as share a layer make a group, where one thread has all of them.
    void make(const Shortlist& shortlist, const Session& session, int width, int never) {
        const int sentences = int(session.length.size()), most = session.threads == 1 ? std::max(1, ROWS / width) : 1;
        for (int s = 0; s < sentences; s++) {
            ids_.push_back(shortlist.ids(&session.source[session.first[s]], session.length[s], never));
            longest = std::max(longest, ids_.back().size());
        }
        for (int s = 0; s < sentences; s += most) add_group(shortlist, s, std::min(s + most, sentences));
    }

    // The output layer, tile after tile of one's own share of every list: see(row, tile, logits, how many, their ids).
    template <class See> void outputs(Session& session, Worker& me, See see) const {
        for (int row = 0, rows; row < session.rows; row += rows) {
            const int g = group_of_[session.sentence[row]];
            for (rows = 1; row + rows < session.rows && group_of_[session.sentence[row + rows]] == g;) rows++;
            me.input.read(me.x.get() + size_t(row) * me.wide, rows, me.wide, session.model.rounded);
            const Linear& layer = groups_[g].layer;
            if (!groups_[g].is_shared) outputs_of(layer, session, me, row, rows, see);
            else shared_outputs(layer, session, me, row, rows, see);
        }
    }

  private:
    struct Group {
        Linear layer;
        Array<uint8_t> memory;
        bool is_shared;
    };

    void add_group(const Shortlist& shortlist, int first, int last) {
        std::vector<int32_t> all;
        for (int s = first; s < last; s++) {
            std::vector<int32_t> more;
            std::set_union(all.begin(), all.end(), ids_[s].begin(), ids_[s].end(), std::back_inserter(more));
            all.swap(more);
        }
        for (int s = first; s < last; s++) {
            places_.emplace_back();
            group_of_.push_back(int(groups_.size()));
            size_t place = 0;
            for (const int32_t id : ids_[s]) {
                while (all[place] != id) place++;
                places_.back().push_back(int32_t(place));
            }
        }
        Group group;
        group.layer = shortlist.gather(all, group.memory.reserve(shortlist.size_of(int(all.size()))));
        group.is_shared = last - first > 1;
        groups_.push_back(std::move(group));
    }

    template <class See>
    void outputs_of(const Linear& layer, Session& session, Worker& me, int row, int rows, See see) const {
        const std::vector<int32_t>& list = ids_[session.sentence[row]];
        const int size = int(list.size());
        me.logits.reserve(size_t(rows) * TILE);
        const Share own = share_of((size + TILE - 1) / TILE, 1, me.index, me.team.size);
        for (int tile = own.first; tile < own.last; tile++) {
            const int column = tile * TILE, end = std::min(column + TILE, layer.outputs);
            Product{layer, me.input, me.logits.get(), TILE, NOTHING}.columns(rows, column, end);
            for (int r = 0; r < rows; r++)
                see(row + r, tile, me.logits.get() + size_t(r) * TILE, std::min(size - column, TILE), list.data() + column);
        }
    }

    template <class See>
    void shared_outputs(const Linear& layer, Session& session, Worker& me, int row, int rows, See see) const {
        const size_t stride = layer.outputs;
        float* own = me.logits.reserve(rows * stride + TILE) + rows * stride;
        Product{layer, me.input, me.logits.get(), stride, NOTHING}.columns(rows, 0, layer.outputs);
        for (int r = 0; r < rows; r++) {
            const int s = session.sentence[row + r], size = int(ids_[s].size());
            const float* logits = me.logits.get() + r * stride;
            for (int tile = 0; tile * TILE < size; tile++) {
                const int32_t* places = places_[s].data() + tile * TILE;
                const int real = std::min(size - tile * TILE, TILE);
                for (int i = 0; i < real; i++) own[i] = logits[places[i]];
                see(row + r, tile, own, real, ids_[s].data() + tile * TILE);
            }
        }
    }

    std::vector<std::vector<int32_t>> ids_, places_;  // of every sentence; where each id is in the layer of its group
    std::vector<int> group_of_;                       // of every sentence
    std::vector<Group> groups_;
};

}  // namespace
