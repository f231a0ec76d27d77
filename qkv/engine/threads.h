// Threads that work on the same thing, and behave when others want their cores.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// When another program has kept a thread waiting, working alone for a while is faster than waiting at every meeting:
// for a moment at first, and twice as long each time that it happens again soon.
std::atomic<int64_t> alone_until{0}, alone_for{0};
constexpr int64_t ALONE_FIRST = 10'000'000, ALONE_MOST = 500'000'000, TOO_LONG = 1'000'000;  // nanoseconds

int64_t now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count(); }

void was_kept_waiting() {
    const int64_t before = alone_until.load(std::memory_order_relaxed), last = alone_for.load(std::memory_order_relaxed);
    const bool again = now() - before < 2 * last;
    const int64_t next = again ? std::min(2 * last, ALONE_MOST) : ALONE_FIRST;
    alone_for.store(next, std::memory_order_relaxed);
    alone_until.store(now() + next, std::memory_order_relaxed);
}

bool is_crowded() { return now() < alone_until.load(std::memory_order_relaxed); }

class Team {
  public:
    int size = 1;
    std::atomic<int> started{0};

    void meet() {
        if (size == 1) return;
        const int turn = turn_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        for (int i = 0; i < 4000; i++) {
            if (turn_.load(std::memory_order_acquire) != turn) return;
            pause();
        }
        const int64_t since = now();
        while (turn_.load(std::memory_order_acquire) == turn) std::this_thread::yield();
        if (now() - since > TOO_LONG) was_kept_waiting();
    }

  private:
    std::atomic<int> arrived_{0}, turn_{0};
};

#if defined(__linux__)
inline int this_core() { return sched_getcpu(); }

// Linux often starts a thread on the core of the one that will wait for it: each gets another core, where there is one.
void move_to_another_core(int busy, int index) {
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && core != busy && --index == 0) {
            CPU_ZERO(&own);
            CPU_SET(core, &own);
            sched_setaffinity(0, sizeof own, &own);
        }
}
#else
inline int this_core() { return -1; }
inline void move_to_another_core(int, int) {}
#endif

// The same work in several threads, which are gone when it is done: nothing waits between calls, nothing survives a fork.
template <class Work> void together(int threads, Work work) {
    if (is_crowded()) threads = 1;
    Team team;
    std::vector<std::thread> helpers;
    std::atomic<bool> go{false};
    const int busy = this_core();
    try {
        for (int index = 1; index < threads; index++)
            helpers.emplace_back([&, index] {
                move_to_another_core(busy, index);
                while (!go.load(std::memory_order_acquire)) pause();
                work(team, index);
            });
    } catch (const std::exception&) {  // no more threads are to be had
    }
    team.size = 1 + int(helpers.size());
    go.store(true, std::memory_order_release);
    work(team, 0);
    for (std::thread& helper : helpers) helper.join();
}

struct Share {
    int first, last;
};

inline Share share_of(int count, int unit, int index, int size) {
    const int units = count / unit;
    return {units * index / size * unit, units * (index + 1) / size * unit};
}

}  // namespace
