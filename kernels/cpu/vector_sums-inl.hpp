/// Sums of rows on Highway's vectors: parts in the lanes of the compute type, joined in double.
#if defined(DIOPI_CPU_VECTOR_SUMS) == defined(HWY_TARGET_TOGGLE)
#ifdef DIOPI_CPU_VECTOR_SUMS
#undef DIOPI_CPU_VECTOR_SUMS
#else
#define DIOPI_CPU_VECTOR_SUMS
#endif

#include <algorithm>

#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

/// The sum of the lanes, in double.
HWY_INLINE double lane_sum(Vec<double> x) { return hn::GetLane(hn::SumOfLanes(Tag<double>(), x)); }
HWY_INLINE double lane_sum(Vec<float> x) {
    const Tag<double> d;
    const hn::Half<Tag<float>> half;
    return lane_sum(hn::PromoteTo(d, hn::LowerHalf(half, x)) + hn::PromoteTo(d, hn::UpperHalf(half, x)));
}

/// Sums of kSums terms over one or more runs of elements.
template <class T, int kSums>
class Sums {
 public:
    HWY_INLINE Sums() { clear(); }

    /// Adds a run of n elements. term(first element, how many, vectors) sets kSums vectors to the terms of a vector of
    /// elements; lanes that are not valid must be 0.
    template <class Term>
    HWY_INLINE void add(int64_t n, const Term& term) {
        for (int64_t start = 0; start < n; start += kPart) {
            const int64_t end = std::min(n, start + kPart);
            if (added_ + (end - start) > kPart) join();
            added_ += end - start;
            add_part(start, end, term);
        }
    }
    [[nodiscard]] HWY_INLINE double total(int sum) {
        join();
        return totals_[sum];
    }

 private:
    static constexpr int64_t kPart = 4096;
    static constexpr int kChains = 4 / kSums;

    HWY_INLINE void clear() {
        for (auto& chain : lanes_) {
            for (auto& x : chain) x = hn::Zero(Tag<T>());
        }
        added_ = 0;
    }
    template <class Term>
    HWY_INLINE void add_part(int64_t i, int64_t end, const Term& term) {
        constexpr int64_t kStep = kLanesOf<T>;
        Vec<T> terms[kSums];
        for (; i + kChains * kStep <= end; i += kChains * kStep) {
            for (int chain = 0; chain < kChains; ++chain) {
                term(i + chain * kStep, kStep, terms);
                for (int k = 0; k < kSums; ++k) lanes_[chain][k] = lanes_[chain][k] + terms[k];
            }
        }
        for (; i < end; i += kStep) {
            term(i, std::min(kStep, end - i), terms);
            for (int k = 0; k < kSums; ++k) lanes_[0][k] = lanes_[0][k] + terms[k];
        }
    }
    HWY_INLINE void join() {
        for (int k = 0; k < kSums; ++k) {
            for (int chain = 1; chain < kChains; ++chain) lanes_[0][k] = lanes_[0][k] + lanes_[chain][k];
            totals_[k] += lane_sum(lanes_[0][k]);
        }
        clear();
    }

    Vec<T> lanes_[kChains][kSums];
    double totals_[kSums] = {};
    int64_t added_;
};

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DIOPI_CPU_VECTOR_SUMS
