#include "check/repeat.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check/locate.hpp"
#include "check/oracle.hpp"

namespace diopi {

namespace {

constexpr size_t kWidest = 16;

/// Whether the element is a NaN; a complex number is one if either part is.
bool is_nan(const std::byte* element, Dtype dtype) {
    const auto part_is_nan = [](const std::byte* part, size_t size, uint64_t infinity, uint64_t magnitude) {
        uint64_t bits = 0;
        std::memcpy(&bits, part, size);
        return (bits & magnitude) > infinity;
    };
    switch (dtype) {
        case Dtype::float16:
            return part_is_nan(element, 2, 0x7c00, 0x7fff);
        case Dtype::bfloat16:
            return part_is_nan(element, 2, 0x7f80, 0x7fff);
        case Dtype::float32:
        case Dtype::tfloat32:
            return part_is_nan(element, 4, 0x7f800000, 0x7fffffff);
        case Dtype::float64:
            return part_is_nan(element, 8, 0x7ff0000000000000, 0x7fffffffffffffff);
        case Dtype::complex32:
            return is_nan(element, Dtype::float16) || is_nan(element + 2, Dtype::float16);
        case Dtype::complex64:
            return is_nan(element, Dtype::float32) || is_nan(element + 4, Dtype::float32);
        case Dtype::complex128:
            return is_nan(element, Dtype::float64) || is_nan(element + 8, Dtype::float64);
        case Dtype::int8:
        case Dtype::uint8:
        case Dtype::int16:
        case Dtype::uint16:
        case Dtype::int32:
        case Dtype::uint32:
        case Dtype::int64:
        case Dtype::uint64:
        case Dtype::boolean:
        case Dtype::unsupported:
            break;
    }
    return false;
}

/// Row-major indices of the elements that were never written, and of those that differ for another reason.
struct Differences {
    std::vector<int64_t> unwritten, unequal;
};

class Comparer {
 public:
    Comparer(const Tensor& first, const Tensor& second, PoisonBytes poison)
        : first_(gathered(first)), second_(gathered(second)), size_(size_of(first.dtype)) {
        std::memset(before_first_, poison.first, kWidest);
        std::memset(before_second_, poison.second, kWidest);
    }

    Differences run() {
        const auto* a = first_.data_as<std::byte>();
        const auto* b = second_.data_as<std::byte>();
        if (a == nullptr || std::memcmp(a, b, first_.nbytes()) == 0) return {};
        for (int64_t flat = 0; flat < first_.numel(); ++flat) {
            const size_t at = static_cast<size_t>(flat) * size_;
            look_at(a + at, b + at, flat);
        }
        return std::move(differences_);
    }

 private:
    void look_at(const std::byte* a, const std::byte* b, int64_t flat) {
        if (std::memcmp(a, b, size_) == 0) return;
        if (std::memcmp(a, before_first_, size_) == 0 && std::memcmp(b, before_second_, size_) == 0) {
            differences_.unwritten.push_back(flat);
        } else if (!is_nan(a, first_.dtype) || !is_nan(b, first_.dtype)) {
            differences_.unequal.push_back(flat);
        }
    }

    Tensor first_, second_;
    size_t size_;
    std::byte before_first_[kWidest], before_second_[kWidest];
    Differences differences_;
};

std::string share(const std::vector<int64_t>& elements, const Tensor& tensor) {
    return std::to_string(elements.size()) + " of " + std::to_string(tensor.numel()) + " elements";
}

}  // namespace

Failure compare_runs(const Tensor& first, const Tensor& second, PoisonBytes poison, bool may_differ) {
    const Differences found = Comparer(first, second, poison).run();
    if (!found.unwritten.empty()) {
        return {FailureKind::kUnwritten,
                share(found.unwritten, first) + " were never written; " + locate(first.shape, found.unwritten)};
    }
    if (may_differ || found.unequal.empty()) return {};
    return {FailureKind::kNotRepeatable, "two runs on the same inputs differ in " + share(found.unequal, first) + "; " +
                                             locate(first.shape, found.unequal)};
}

}  // namespace diopi
