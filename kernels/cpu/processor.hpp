/// Properties of this processor that decide which code is faster. Processors with the same instruction set can differ
/// in them. They never change a result.
#pragma once

namespace diopi::cpu {

struct Processor {
    /// The processor reads ahead by itself when a loop goes through its arrays in the order of the memory. Requests for
    /// the next memory only cost time then: on two cores of an AMD EPYC (Zen 4) sums of 64 MB take 1.4 to 1.7 ms, and
    /// 2.1 to 2.3 ms with them.
    bool reads_ahead;
    /// The square root instruction for 16 float32 numbers is faster than the steps from an estimate: a Zen 4 takes 24
    /// us for 512 x 512 numbers, and 28 us with the steps.
    bool has_quick_roots;
};
extern const Processor processor;

}  // namespace diopi::cpu
