/// What is fast on this processor, where those of one instruction set differ. Results do not depend on it.
#pragma once

namespace diopi::cpu {

struct Processor {
    /// It reads ahead by itself where a loop goes through its arrays in the order of the memory: on two cores of an AMD
    /// EPYC (Zen 4) sums of 64 MB take 1.4 to 1.7 ms, and 2.1 to 2.3 ms with requests for what follows.
    bool reads_ahead;
    /// Its own roots of 16 float32 numbers take less time than steps from an estimate: a Zen 4 takes 24 us for 512 x
    /// 512 of them, and 28 us with such steps.
    bool has_quick_roots;
};
extern const Processor processor;

}  // namespace diopi::cpu
