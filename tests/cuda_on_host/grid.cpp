#include "tests/cuda_on_host/grid.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace cuda_on_host {

namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostOuterBlocks = 65535;
constexpr size_t kStackBytes = 64 << 10;

[[noreturn]] void die(const char* why) {
    std::fprintf(stderr, "cuda on host: %s (block %u %u %u, thread %u %u %u)\n", why, blockIdx.x, blockIdx.y,
                 blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    std::abort();
}

/// A stack on which threads begin one after another until one waits for others; then it is that thread's until its end.
struct Fiber {
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
    jmp_buf place;
};

enum class State { kReady, kWaitsForBlock, kWaitsForWarp, kEnded };

struct Thread {
    State state = State::kReady;
    Fiber* fiber = nullptr;  ///< null before it begins and after it ends
    unsigned mask = 0;       ///< the lanes that it waits for
    unsigned values = 0;     ///< the number of values that it has given
};

/// The values of the lanes. A lane is at most one value ahead of the others.
struct Warp {
    alignas(kSlotBytes) std::byte slots[2][kWarp * kSlotBytes];
};

class Block {
 public:
    void run(const std::function<void()>& kernel, unsigned count) {
        kernel_ = &kernel;
        threads_.assign(count, {});
        warps_.resize((count + kWarp - 1) / kWarp);
        left_ = count;
        for (forward_ = true; left_ > 0; forward_ = !forward_) {
            bool moved = false;
            for (position_ = 0; position_ < count; ++position_) {
                choose();
                if (threads_[number_].state != State::kReady) continue;
                resume();
                moved = true;
            }
            if (!moved) die("threads wait for others that never arrive");
            release();
        }
    }

    void wait(State what, unsigned mask) {
        Thread& thread = threads_[number_];
        if (what == State::kWaitsForWarp && (mask >> lane() & 1u) == 0) die("a lane is not in the mask that it names");
        thread.state = what;
        thread.mask = mask;
        leave(*thread.fiber);
    }

    const std::byte* gather_lanes(unsigned mask, const void* value, size_t nbytes) {
        std::byte* slots = warps_[number_ / kWarp].slots[threads_[number_].values++ % 2];
        std::memcpy(slots + lane() * kSlotBytes, value, nbytes);
        wait(State::kWaitsForWarp, mask);
        return slots;
    }

    [[nodiscard]] unsigned lane() const { return number_ % kWarp; }

 private:
    void choose() {
        number_ = forward_ ? position_ : static_cast<unsigned>(threads_.size()) - 1 - position_;
        const unsigned row = number_ / blockDim.x;
        threadIdx = {number_ - row * blockDim.x, row % blockDim.y, row / blockDim.y};
    }

    /// Chooses the next thread if it has not begun.
    bool choose_new() {
        if (position_ + 1 >= threads_.size()) return false;
        const Thread& next = threads_[forward_ ? number_ + 1 : number_ - 1];
        if (next.state != State::kReady || next.fiber != nullptr) return false;
        ++position_;
        choose();
        return true;
    }

    void resume() {
        Thread& thread = threads_[number_];
        if (thread.fiber == nullptr) thread.fiber = take_fiber();
        if (_setjmp(scheduler_) == 0) _longjmp(thread.fiber->place, 1);
    }

    Fiber* take_fiber() {
        if (free_.empty()) {
            fibers_.push_back(std::make_unique<Fiber>());
            begin(*fibers_.back());
            free_.push_back(fibers_.back().get());
        }
        Fiber* fiber = free_.back();
        free_.pop_back();
        return fiber;
    }

    /// Enters the fiber's stack, and returns when it waits for its first thread.
    void begin(Fiber& fiber) {
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber.stack.get();
        context.uc_stack.ss_size = kStackBytes;
        context.uc_link = nullptr;
        makecontext(&context, serve, 0);
        begins_ = &fiber;
        if (_setjmp(scheduler_) == 0) setcontext(&context);
    }

    static void serve();

    void serve(Fiber& fiber) {
        for (;;) {
            leave(fiber);
            do {
                threads_[number_].fiber = &fiber;
                (*kernel_)();
                threads_[number_] = {.state = State::kEnded};
                --left_;
            } while (choose_new());
            free_.push_back(&fiber);
        }
    }

    void leave(Fiber& fiber) {
        if (_setjmp(fiber.place) == 0) _longjmp(scheduler_, 1);
    }

    /// Makes threads ready if all those that they wait for have arrived.
    void release() {
        bool all_wait = true;
        for (const Thread& t : threads_) all_wait &= t.state == State::kEnded || t.state == State::kWaitsForBlock;
        for (unsigned number = 0; number < threads_.size(); ++number) {
            Thread& thread = threads_[number];
            if (thread.state == State::kWaitsForBlock && all_wait) thread.state = State::kReady;
            if (thread.state == State::kWaitsForWarp) release_warp(number / kWarp * kWarp, thread.mask);
        }
    }

    void release_warp(unsigned first, unsigned mask) {
        for (unsigned k = 0; k < kWarp; ++k) {
            if ((mask >> k & 1u) == 0) continue;
            if (first + k >= threads_.size() || threads_[first + k].state == State::kEnded) {
                die("a mask names a lane that has ended");
            }
            const Thread& other = threads_[first + k];
            if (other.state != State::kWaitsForWarp || other.mask != mask) return;
        }
        for (unsigned k = 0; k < kWarp; ++k) {
            if ((mask >> k & 1u) != 0) threads_[first + k].state = State::kReady;
        }
    }

    const std::function<void()>* kernel_ = nullptr;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> free_;
    Fiber* begins_ = nullptr;
    unsigned number_ = 0;  ///< the number of the running thread
    unsigned left_ = 0;
    bool forward_ = true;
    unsigned position_ = 0;  ///< the number of threads before it in this pass
    jmp_buf scheduler_;
};

Block& block() {
    static Block the_block;
    return the_block;
}

void Block::serve() { block().serve(*block().begins_); }

bool is_refused(const cudaLaunchConfig_t& config) {
    const dim3 &blocks = config.gridDim, &threads = config.blockDim;
    const uint64_t count = uint64_t{threads.x} * threads.y * threads.z;
    if (count == 0 || count > kMostThreads || threads.z > 64) return true;
    return blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.x > INT32_MAX || blocks.y > kMostOuterBlocks ||
           blocks.z > kMostOuterBlocks;
}

}  // namespace

cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& kernel) {
    if (is_refused(config)) return cudaErrorInvalidConfiguration;
    static std::mutex turn;
    const std::lock_guard lock(turn);
    blockDim = config.blockDim;
    gridDim = config.gridDim;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z) {
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
                block().run(kernel, blockDim.x * blockDim.y * blockDim.z);
            }
        }
    }
    return cudaSuccess;
}

void wait_for_block() { block().wait(State::kWaitsForBlock, 0); }
void wait_for_warp(unsigned mask) { block().wait(State::kWaitsForWarp, mask); }
int lane_of_warp() { return static_cast<int>(block().lane()); }
const std::byte* gather_lanes(unsigned mask, const void* value, size_t nbytes) {
    return block().gather_lanes(mask, value, nbytes);
}

}  // namespace cuda_on_host
