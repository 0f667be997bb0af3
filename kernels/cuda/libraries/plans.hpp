/// A cache of the plans that a library has made for shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace diopi::cuda {

/// Destroys a descriptor of the library with a function of its table.
template <class Table, auto kDestroy>
struct DestroyWith {
    const Table* table = nullptr;
    template <class T>
    void operator()(T* descriptor) const {
        (void)(table->*kDestroy)(descriptor);
    }
};

/// All properties that determine a plan.
using PlanKey = std::vector<int64_t>;

struct PlanKeyHash {
    size_t operator()(const PlanKey& key) const {
        uint64_t hash = 0;
        for (const int64_t part : key) {  // Source: Knuth, multiplicative hashing by the golden ratio
            hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15U;
            hash ^= hash >> 32;
        }
        return hash;
    }
};

/// The plans of one thread. A full cache is cleared: a run with so many shapes uses few of them again.
template <class Plan>
class Plans {
 public:
    static constexpr size_t kMost = 4096;

    [[nodiscard]] Plan* find(const PlanKey& key) {
        const auto at = plans_.find(key);
        return at == plans_.end() ? nullptr : &at->second;
    }
    Plan& add(PlanKey key, Plan plan) {
        if (plans_.size() >= kMost) plans_.clear();
        return plans_.insert_or_assign(std::move(key), std::move(plan)).first->second;
    }

 private:
    std::unordered_map<PlanKey, Plan, PlanKeyHash> plans_;
};

}  // namespace diopi::cuda
