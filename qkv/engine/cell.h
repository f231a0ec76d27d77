// The recurrent cell that takes the place of self-attention in some decoders: Marian's SSRU. qkv/core/cell.py has the formula.

#pragma once

#include "vectors.h"

namespace {

// c = f c′ + (1 − f) x of some columns. states holds x and becomes c; gates is f before its sigmoid; before is c′, or nothing.
inline void advance(float* states, const float* gates, const float* before, int columns) {
    for (int i = 0; i < columns; i += LANES) {
        const Floats x = load(states + i), past = before ? load(before + i) : Floats{};
        store(states + i, sigmoid(load(gates + i)) * (past - x) + x);
    }
}

}  // namespace
