// Threads that work on the same thing, and behave when others want their cores.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// When another program has kept a thread waiting, working alone for a while is faster than waiting at every meeting:
// for a moment at first, and twice as long each time that it happens again soon.
std::atomic<int64_t> alone_until{0}, alone_for{0};
constexpr int64_t ALONE_FIRST = 10'000'000, ALONE_MOST = 500'000'000, TOO_LONG = 1'000'000;  // nanoseconds
constexpr int64_t LOOKS_OUT = 2'000'000;  // … for more work, after some was done

int64_t now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count(); }

void was_kept_waiting() {
    const int64_t before = alone_until.load(std::memory_order_relaxed), last = alone_for.load(std::memory_order_relaxed);
    if (now() < before) return;  // another thread that waited for the same one has said so
    const bool again = now() - before < 2 * last;
    const int64_t next = again ? std::min(2 * last, ALONE_MOST) : ALONE_FIRST;
    alone_for.store(next, std::memory_order_relaxed);
    alone_until.store(now() + next, std::memory_order_relaxed);
}

bool is_crowded() { return now() < alone_until.load(std::memory_order_relaxed); }

// Another thread of the team has failed, and this one has to stop as well.
struct TeamFailed {};

class Team {
  public:
    int size = 1;

    void meet() {
        if (size == 1) return;
        if (has_failed()) throw TeamFailed{};
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
        while (turn_.load(std::memory_order_acquire) == turn) {
            if (has_failed()) throw TeamFailed{};  // the thread that failed never arrives
            std::this_thread::yield();
        }
        if (now() - since > TOO_LONG) was_kept_waiting();
    }

    // Work that may fail, as it does without memory: the first error is kept, and nobody waits for its thread.
    template <class Work> void attempt(Work work) noexcept {
        try {
            work();
        } catch (const TeamFailed&) {
        } catch (...) {
            if (!claimed_.exchange(true)) error_ = std::current_exception();
            failed_.store(true, std::memory_order_release);
        }
    }

    // After everyone has stopped.
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    bool has_failed() const { return failed_.load(std::memory_order_acquire); }

    std::atomic<int> arrived_{0}, turn_{0};
    std::atomic<bool> claimed_{false}, failed_{false};
    std::exception_ptr error_;
};

// What a thread is to do. Starting it takes no memory: half a team that waits for the rest could not be stopped.
struct Task {
    void (*run)(void* work, Team& team, int index) = nullptr;
    void* work = nullptr;
    Team* team = nullptr;
    int index = 0;

    void operator()() const {
        team->attempt([this] { run(work, *team, index); });
    }
};

#if defined(__linux__)
// Linux often puts a thread on the core of the one that will wait for it: each gets another core, where there is one.
int core_for(int index) {
    cpu_set_t allowed;
    const int busy = sched_getcpu();
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    for (int next = 1; next < CPU_SETSIZE; next++) {  // from the caller's on, so that several callers choose different ones
        const int core = (std::max(busy, 0) + next) % CPU_SETSIZE;
        if (CPU_ISSET(core, &allowed) && --index == 0) return core;
    }
    return -1;
}

void pin(std::thread& thread, int core) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    pthread_setaffinity_np(thread.native_handle(), sizeof own, &own);
}
#else
inline int core_for(int) { return -1; }
inline void pin(std::thread&, int) {}
#endif

// A thread that stays. To start one, or to wake one up, can take as long as a layer: after its work it looks out for more
// for a moment, in which others may have its core, and only then goes to sleep.
class Helper {
  public:
    Helper() : thread_([this] { live(); }) {}

    void begin(const Task& task, int core) {
        if (core >= 0 && core != core_) pin(thread_, core_ = core);
        task_ = task;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            busy_.store(true, std::memory_order_release);
        }
        wake_.notify_one();
    }

    void wait() const {
        for (int i = 0; is_busy(); i++) i % 100 ? pause() : std::this_thread::yield();
    }

  private:
    bool is_busy() const { return busy_.load(std::memory_order_acquire); }

    void live() {
        while (true) {
            const int64_t until = now() + LOOKS_OUT;
            while (!is_busy() && now() < until) {
                for (int i = 0; i < 100 && !is_busy(); i++) pause();
                std::this_thread::yield();
            }
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [this] { return is_busy(); });
            }
            task_();
            busy_.store(false, std::memory_order_release);
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> busy_{false};
    Task task_;
    int core_ = -1;
    std::thread thread_;  // last: it uses all the others
};

// Those of this process that have nothing to do. A fork has none of its parent's threads, and gets its own.
struct Helpers {
    std::mutex mutex;
    std::vector<Helper*> idle;
    size_t count = 0;

    static Helpers& of_this_process() {
        static Helpers* own = [] {
#if !defined(_WIN32)
            pthread_atfork(nullptr, nullptr, [] { own = new Helpers; });
#endif
            return new Helpers;
        }();
        return *own;
    }

    Helper* take() {
        std::lock_guard<std::mutex> lock(mutex);
        if (idle.empty()) {
            idle.reserve(count + 1);  // so that giving it back takes no memory
            Helper* made = new Helper;
            count++;
            return made;
        }
        Helper* last = idle.back();
        idle.pop_back();
        return last;
    }

    void give_back(Helper* helper) {
        std::lock_guard<std::mutex> lock(mutex);
        idle.push_back(helper);
    }
};

// Start as many threads as possible: threads or memory may be short.
inline std::vector<Helper*> helpers_for(int threads) {
    std::vector<Helper*> taken;
    try {
        taken.reserve(threads);
        while (int(taken.size()) + 1 < threads) taken.push_back(Helpers::of_this_process().take());
    } catch (const std::exception&) {
    }
    return taken;
}

// The same work in several threads. If one of them throws, all stop, and so does the caller with the same error.
template <class Work> void together(int threads, Work work) {
    Team team;
    std::vector<Helper*> taken = helpers_for(is_crowded() ? 1 : threads);
    team.size = 1 + int(taken.size());
    const auto run = [](void* each, Team& mine, int index) { (*static_cast<Work*>(each))(mine, index); };
    for (int index = 1; index < team.size; index++) taken[index - 1]->begin({run, &work, &team, index}, core_for(index));
    Task{run, &work, &team, 0}();
    for (; !taken.empty(); taken.pop_back()) {  // the first comes last, and is the next to be taken: it stays on its core
        taken.back()->wait();
        Helpers::of_this_process().give_back(taken.back());
    }
    team.rethrow();
}

struct Share {
    int first, last;
};

inline Share share_of(int count, int unit, int index, int size) {
    const int units = count / unit;
    return {units * index / size * unit, units * (index + 1) / size * unit};
}

}  // namespace
