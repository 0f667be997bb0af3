#include "check/diagnose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#include "check/locate.hpp"
#include "check/oracle.hpp"

namespace diopi {

namespace {

/// The ulp percentile sorts no more elements than this.
constexpr int64_t kMostSampled = int64_t{1} << 22;

/// Gathers a Diagnosis element by element.
class Collector {
 public:
    explicit Collector(int64_t count) : every_(std::max<int64_t>(1, count / kMostSampled)) {}

    void add(int64_t element, int64_t part, const Judgement& j) {
        // Equal infinities are no error.
        result_.ulp.count(j.finite || j.ok ? j.ulp_error : std::numeric_limits<double>::quiet_NaN());
        if (j.finite && part % every_ == 0) ulps_.push_back(static_cast<float>(std::min(j.ulp_error, 1e38)));
        if (j.ok) return;
        const bool counted = !result_.mismatches.empty() && result_.mismatches.back() == element;
        if (!counted) result_.mismatches.push_back(element);
        if (!j.finite && element != last_non_finite_) {
            if (result_.non_finite++ == 0) result_.worst = element;
            last_non_finite_ = element;
        }
        // If nothing is allowed, all shares are equal, and the error decides.
        const bool is_worse = j.share > worst_share_ || (j.share == worst_share_ && j.abs_error > worst_error_);
        if (result_.non_finite == 0 && is_worse) {
            worst_share_ = j.share;
            worst_error_ = j.abs_error;
            result_.worst = element;
        }
    }

    Diagnosis finish() {
        if (!ulps_.empty()) {
            const auto rank = static_cast<std::ptrdiff_t>(static_cast<double>(ulps_.size() - 1) * 0.99);
            std::nth_element(ulps_.begin(), ulps_.begin() + rank, ulps_.end());
            result_.p99_ulp = static_cast<double>(ulps_[static_cast<size_t>(rank)]);
        }
        return std::move(result_);
    }

 private:
    Diagnosis result_;
    std::vector<float> ulps_;
    int64_t every_ = 1;
    int64_t last_non_finite_ = -1;
    double worst_share_ = -1, worst_error_ = 0;
};

/// Calls visit(const U* words) with the unsigned type of the same width.
template <class Visit>
auto with_words(const Tensor& actual, Visit&& visit) {
    switch (size_of(actual.dtype)) {
        case 1:
            return visit(actual.data_as<const uint8_t>());
        case 2:
            return visit(actual.data_as<const uint16_t>());
        case 4:
            return visit(actual.data_as<const uint32_t>());
        default:
            return visit(actual.data_as<const uint64_t>());
    }
}

template <class Word, class Wide>
bool equal_words(const Word* actual, const Wide* expected, int64_t n) {
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t count = std::min(kBlock, n - begin);
        const Word* a = actual + begin;
        const Wide* e = expected + begin;
        Word different = 0;
        if (count == kBlock) {
            for (int64_t i = 0; i < kBlock; ++i) different |= static_cast<Word>(a[i] ^ static_cast<Word>(e[i]));
        } else {
            for (int64_t i = 0; i < count; ++i) different |= static_cast<Word>(a[i] ^ static_cast<Word>(e[i]));
        }
        if (different != 0) return false;
    }
    return true;
}

/// The value that a word stands for in the dtype.
double value_of(uint64_t word, Dtype dtype) {
    switch (dtype) {
        case Dtype::int8:
            return static_cast<int8_t>(word);
        case Dtype::int16:
            return static_cast<int16_t>(word);
        case Dtype::int32:
            return static_cast<int32_t>(word);
        case Dtype::int64:
            return static_cast<double>(static_cast<int64_t>(word));
        default:
            return static_cast<double>(word);
    }
}

Judgement judge_integers(uint64_t actual, uint64_t expected, Dtype dtype) {
    Judgement j;
    if (actual == expected) return j;
    const double e = value_of(expected, dtype);
    // Above 2^53 neighbours may convert to the same double; their difference must not become 0.
    j.abs_error = std::max(std::fabs(value_of(actual, dtype) - e), 1.0);
    j.ok = false;
    j.rel_error = e != 0 ? j.abs_error / std::fabs(e) : 0;
    j.ulp_error = j.abs_error;
    j.share = 2 * j.abs_error;
    return j;
}

std::string print_figure(double x) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", x);
    return text.data();
}

/// The ratio of the difference to a bound; where the bound is 0, the difference itself.
std::string times(const Deviation& d, const char* bound) {
    if (d.budget_used < std::numeric_limits<double>::max()) {
        return "max " + print_figure(d.budget_used) + " times the " + bound;
    }
    // A complex number may differ in its imaginary part, which `worst_` leaves out.
    const double real = std::fabs(d.worst_actual - d.worst_expected);
    return "difference " + print_figure(real > 0 ? real : d.max_abs) + " where the " + bound + " is 0,";
}

std::string how_far(const Deviation& d, Dtype dtype) {
    if (is_integer(dtype) || dtype == Dtype::boolean) return "max difference " + print_figure(d.max_abs);
    switch (d.accuracy_class) {
        case 'D':
            return times(d, "bound");
        case 'E':
            return times(d, "tolerance");
        default:
            return "max " + print_figure(d.max_ulp) + " ulp";
    }
}

}  // namespace

Diagnosis diagnose(const Operands& operands, const Rule& rule) {
    Collector collector(operands.count);
    Block block;
    for (int64_t begin = 0; begin < operands.count; begin += kBlock) {
        load_block(operands, begin, rule.has_sums, block);
        for (int64_t i = 0; i < block.count; ++i) {
            const auto k = static_cast<size_t>(i);
            const double sum = block.sums != nullptr ? block.sums[i] : 0;
            const Judgement j = judge(block.actual[k], block.expected[i], sum, rule);
            collector.add((begin + i) / operands.parts, begin + i, j);
        }
    }
    return collector.finish();
}

bool equal_integers(const Tensor& actual, const Tensor& oracle) {
    const int64_t n = actual.numel();
    return with_words(actual, [&](const auto* words) {
        return oracle.dtype == Dtype::boolean ? equal_words(words, oracle.data_as<const uint8_t>(), n)
                                              : equal_words(words, oracle.data_as<const int64_t>(), n);
    });
}

Diagnosis diagnose_integers(const Tensor& actual, const Tensor& oracle) {
    const int64_t n = actual.numel();
    Collector collector(n);
    Scan figures;
    with_words(actual, [&](const auto* words) {
        using Word = std::remove_cvref_t<decltype(*words)>;
        for (int64_t i = 0; i < n; ++i) {
            const auto expected = oracle.dtype == Dtype::boolean
                                      ? static_cast<Word>(oracle.data_as<const uint8_t>()[i])
                                      : static_cast<Word>(oracle.data_as<const int64_t>()[i]);
            const Judgement j = judge_integers(words[i], expected, actual.dtype);
            collector.add(i, i, j);
            figures.max_abs = std::max(figures.max_abs, j.abs_error);
            figures.max_rel = std::max(figures.max_rel, j.rel_error);
            figures.max_ulp = std::max(figures.max_ulp, j.ulp_error);
            figures.share = std::max(figures.share, j.share);
            figures.cosine_sums.add(value_of(words[i], actual.dtype), value_of(expected, actual.dtype));
        }
    });
    Diagnosis result = collector.finish();
    result.figures = figures;
    return result;
}

void explain(const Diagnosis& diagnosis, const Tensor& actual, const Tensor& oracle, Comparison& comparison) {
    Deviation& d = comparison.deviation;
    d.mismatches = static_cast<int64_t>(diagnosis.mismatches.size());
    d.p99_ulp = diagnosis.p99_ulp;
    d.worst_index = unravel(diagnosis.worst, actual.shape);
    d.worst_actual = real_of(actual, diagnosis.worst);
    d.worst_expected = real_of(oracle, diagnosis.worst);
    d.where = locate(actual.shape, diagnosis.mismatches);
    d.picture = picture_of(actual.shape, diagnosis.mismatches);
    d.ulp_counts.assign(diagnosis.ulp.counts.begin(), diagnosis.ulp.counts.end());

    const std::string place = to_string(d.worst_index);
    const std::string got = print_element(actual, diagnosis.worst);
    const std::string wanted = print_oracle(oracle, diagnosis.worst, actual.dtype);
    const std::string tally = std::to_string(d.mismatches) + " of " + std::to_string(d.numel) + " elements differ";
    comparison.passed = false;
    comparison.kind = FailureKind::kValues;
    if (diagnosis.non_finite > 0) {
        comparison.reason = got + " at " + place + " where " + wanted + " is expected";
        if (diagnosis.non_finite > 1) {
            comparison.reason += " (" + std::to_string(diagnosis.non_finite) + " such places)";
        }
        if (d.mismatches > diagnosis.non_finite) comparison.reason += "; " + tally;
    } else {
        comparison.reason =
            tally + ": " + how_far(d, actual.dtype) + " at " + place + ": got " + got + ", expected " + wanted;
    }
    comparison.reason += "; " + d.where;
}

}  // namespace diopi
