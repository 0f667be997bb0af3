#include "check/scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/convert.hpp"
#include "core/instruction_sets.hpp"

namespace diopi {

namespace {

/// Vectors of the width of an instruction set's: g++ 12 splits wider ones into elements, which is ten times slower.
/// They are passed by reference, because passing them by value depends on the instruction set.
template <int kBytes>
struct VectorsOf {
    using Lanes [[gnu::vector_size(kBytes)]] = double;
    using Bits [[gnu::vector_size(kBytes)]] = int64_t;
    static constexpr int64_t kLanes = kBytes / sizeof(double);
};
constexpr int kNarrow = 16, kWide = 32;
constexpr int64_t kMostLanes = VectorsOf<kWide>::kLanes;

constexpr double kMostFinite = std::numeric_limits<double>::max();
constexpr int64_t kMagnitudeBits = 0x7fffffffffffffff;
constexpr int64_t kExponentBits = 0x7ff0000000000000;

template <class Vector>
inline void load(Vector& to, const void* from) {
    std::memcpy(&to, from, sizeof(Vector));
}

template <class Vector>
constexpr int kSize = sizeof(Vector) / sizeof(double);

template <class Lanes>
void raise(Lanes& maximum, const Lanes& x) {
    maximum = x > maximum ? x : maximum;
}

template <class Lanes>
double largest_of(const Lanes& x) {
    double largest = x[0];
    for (int i = 1; i < kSize<Lanes>; ++i) largest = std::max(largest, x[i]);
    return largest;
}

template <class Vector>
auto sum_of(const Vector& x) {
    auto sum = x[0];
    for (int i = 1; i < kSize<Vector>; ++i) sum += x[i];
    return sum;
}

template <class Bits>
bool any(const Bits& x) {
    int64_t bits = 0;
    for (int i = 0; i < kSize<Bits>; ++i) bits |= x[i];
    return bits != 0;
}

void load_sums(const Operands& operands, Block& block) {
    if (operands.magnitude != nullptr && operands.parts == 1) {
        block.sums = operands.magnitude + block.begin;
        return;
    }
    block.sums = block.padded_sums.data();
    for (int64_t i = 0; i < block.count; ++i) {
        const int64_t part = block.begin + i;
        double& sum = block.padded_sums[static_cast<size_t>(i)];
        if (operands.magnitude != nullptr) {
            sum = operands.magnitude[part / 2];
            continue;
        }
        // A product mixes real and imaginary parts: the modulus stands for both.
        sum = operands.parts == 2 ? std::hypot(operands.expected[part & ~int64_t{1}], operands.expected[part | 1])
                                  : std::fabs(operands.expected[part]);
        // Infinity would say that finite terms overflow.
        if (std::isinf(sum)) sum = 0;
    }
}

/// Products of complex numbers that are not finite have NaN in one part or in both, as their formula has it. Where both
/// sides have a part that is not finite, and one side a NaN, all parts become NaN.
void unite_nans(Block& block) {
    const auto has_nan = [](const double* x) { return std::isnan(x[0]) || std::isnan(x[1]); };
    const auto is_finite = [](const double* x) { return std::isfinite(x[0]) && std::isfinite(x[1]); };
    for (int64_t i = 0; i + 1 < block.count; i += 2) {
        double* actual = block.actual.data() + i;
        const double* expected = block.expected + i;
        if (is_finite(actual) || is_finite(expected) || !(has_nan(actual) || has_nan(expected))) continue;
        if (block.expected != block.padded_expected.data()) {
            std::copy_n(block.expected, block.count, block.padded_expected.data());
            block.expected = block.padded_expected.data();
        }
        std::fill_n(actual, 2, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(block.padded_expected.data() + i, 2, std::numeric_limits<double>::quiet_NaN());
    }
}

/// Replaces a row that ends inside a vector by a copy with zeros behind it.
void pad(const double*& row, std::array<double, kBlock>& copy, int64_t count, int64_t whole) {
    if (row != copy.data()) std::copy_n(row, count, copy.data());
    std::fill(copy.begin() + count, copy.begin() + whole, 0.0);
    row = copy.data();
}

/// The lane-by-lane results of the vectorised sweep over one block. The largest ratios are those of all blocks so far.
template <class Lanes, class Bits>
struct Figures {
    explicit Figures(const Scan& total)
        : max_rel(Lanes{} + total.max_rel),
          max_ulp(Lanes{} + std::min(total.max_ulp, kMostFinite)),
          share(Lanes{} + total.share) {}

    Lanes max_rel, max_ulp, share;
    Lanes max_abs = {}, unequal_magnitude = {};
    Lanes dot = {}, square_actual = {}, square_expected = {};
    Bits suspect = {};  ///< bits set where an element is not shown to be right
    Bits warned = {};
};

template <class Lanes, class Bits>
void add_sweep(const Figures<Lanes, Bits>& figures, Scan& total) {
    total.max_abs = std::max(total.max_abs, largest_of(figures.max_abs));
    total.max_rel = std::max(total.max_rel, std::min(largest_of(figures.max_rel), kMostFinite));
    total.max_ulp = std::max(total.max_ulp, largest_of(figures.max_ulp));
    total.share = std::max(total.share, largest_of(figures.share));
    total.warnings += sum_of(figures.warned);
    total.cosine_sums += {sum_of(figures.dot), sum_of(figures.square_actual), sum_of(figures.square_expected)};
}

/// A vector of elements, and what they may differ by.
template <int kBytes, bool kSums>
struct Compared {
    using Lanes = typename VectorsOf<kBytes>::Lanes;
    using Bits = typename VectorsOf<kBytes>::Bits;

    Compared(const Block& block, const Rule& rule, double least_magnitude, double ulp_factor, int64_t i) {
        load(a, &block.actual[static_cast<size_t>(i)]);
        load(e, block.expected + i);
        magnitude = (Lanes)((Bits)e & kMagnitudeBits);
        equal = a == e;
        error = (Lanes)((Bits)(a - e) & kMagnitudeBits & ~equal);
        ulp = (Lanes)((Bits)(magnitude * (1 - 0x1p-53)) & kExponentBits);
        const Lanes least = Lanes{} + least_magnitude;
        ulp = (ulp > least ? ulp : least) * ulp_factor;
        allowed = rule.atol + rule.rtol * magnitude + rule.ulps * ulp;
        if constexpr (kSums) {
            load(sums, block.sums + i);
            allowed += rule.sums * sums;
        }
    }

    Lanes a, e, magnitude, error, ulp, allowed, sums;
    Bits equal;
};

/// The sums of the cosine over a part of a block.
template <class Lanes, class Bits>
struct Squares {
    Lanes dot = {}, actual = {}, expected = {};

    void add(const Lanes& a, const Lanes& e) {
        dot += a * e;
        actual += a * a;
        expected += e * e;
    }
    /// Without elements that are not finite.
    void add_finite(const Lanes& a, const Lanes& e) {
        const Lanes most = Lanes{} + kMostFinite;
        const Bits finite = ((Lanes)((Bits)e & kMagnitudeBits) <= most) & ((Lanes)((Bits)a & kMagnitudeBits) <= most);
        add((Lanes)((Bits)a & finite), (Lanes)((Bits)e & finite));
    }
    [[nodiscard]] bool all_finite() const {
        const Lanes most = Lanes{} + kMostFinite;
        return !any(~((actual <= most) & (expected <= most)));
    }
};

/// Adds the figures of a block whose elements are all shown to be right; else false, and nothing is added. Accepts only
/// what judge() accepts; elements that it cannot decide (rounding ties, NaN against numbers, overflow to infinity,
/// float64 denormals) become suspects. The divisions of the largest ratios would take most of its time: a part of a
/// block has them only if a product shows a ratio that is larger than all before.
template <int kBytes, bool kSums>
bool sweep(const Block& block, const Rule& rule, Scan& total) {
    using Vector = Compared<kBytes, kSums>;
    using Lanes = typename Vector::Lanes;
    using Bits = typename Vector::Bits;
    constexpr int64_t kLanes = VectorsOf<kBytes>::kLanes, kPart = 16 * kLanes;
    const double ulp_factor = std::ldexp(1.0, 1 - rule.format.significand);
    // float64 has no clamping, because its denormals are slow; a smaller ulp only adds suspects.
    const bool wide = rule.format.significand == 53;
    const double least = wide ? 0.0 : std::ldexp(1.0, rule.format.min_exponent);
    Figures<Lanes, Bits> f(total);
    for (int64_t begin = 0; begin < block.count; begin += kPart) {
        const int64_t end = std::min(begin + kPart, block.count);
        Bits unequal = {};
        Squares<Lanes, Bits> squares;
        const auto each = [&](auto&& visit) {
            for (int64_t i = begin; i < end; i += kLanes) {
                Lanes a, e;
                load(a, &block.actual[static_cast<size_t>(i)]);
                load(e, block.expected + i);
                visit(a, e);
            }
        };
        each([&](const Lanes& a, const Lanes& e) {
            unequal |= a != e;
            squares.add(a, e);
        });
        if (!squares.all_finite()) {
            squares = {};
            each([&](const Lanes& a, const Lanes& e) { squares.add_finite(a, e); });
        }
        f.dot += squares.dot;
        f.square_actual += squares.actual;
        f.square_expected += squares.expected;
        if (!any(unequal)) continue;
        Bits larger = {};
        for (int64_t i = begin; i < end; i += kLanes) {
            const Vector x(block, rule, least, ulp_factor, i);
            if constexpr (kSums) f.warned -= (Bits)(x.error > rule.warn_ulps * x.ulp + rule.warn_sums * x.sums);
            const Bits both_nan = (x.a != x.a) & (x.e != x.e);
            const Bits within = (x.error <= x.allowed) & (x.allowed <= kMostFinite);
            f.suspect |= ~(x.equal | both_nan | within);
            raise(f.unequal_magnitude, (Lanes)((Bits)x.magnitude & ~x.equal));
            raise(f.max_abs, x.error);
            larger |= (x.error > f.max_ulp * x.ulp) | (x.error > f.share * x.allowed) |
                      ((x.error > f.max_rel * x.magnitude) & (x.magnitude > 0));
        }
        if (!any(larger)) continue;
        for (int64_t i = begin; i < end; i += kLanes) {
            const Vector x(block, rule, least, ulp_factor, i);
            raise(f.max_ulp, x.error / x.ulp);
            raise(f.max_rel, (Lanes)((Bits)(x.error / x.magnitude) & (Bits)(x.magnitude > 0)));
            raise(f.share, x.error / x.allowed);
        }
    }
    const bool undecided = any(f.suspect) || largest_of(f.max_ulp) > kMostFinite ||
                           largest_of(f.unequal_magnitude) >= rule.format.overflow;
    if (!undecided) add_sweep(f, total);
    return !undecided;
}

/// The function for the vectors of this processor.
template <bool kSums>
auto sweeping() {
    return instruction_set() == InstructionSet::baseline ? sweep<kNarrow, kSums> : best<sweep<kWide, kSums>>();
}

void add_judged(const Block& block, const Rule& rule, Scan& total) {
    for (int64_t i = 0; i < block.count; ++i) {
        const double a = block.actual[static_cast<size_t>(i)];
        const double e = block.expected[i];
        const Judgement j = judge(a, e, block.sums != nullptr ? block.sums[i] : 0, rule);
        total.mismatches += j.ok ? 0 : 1;
        total.warnings += j.warned ? 1 : 0;
        if (!j.finite) {
            total.non_finite += j.ok ? 0 : 1;
            continue;
        }
        total.max_abs = std::max(total.max_abs, j.abs_error);
        total.max_rel = std::max(total.max_rel, j.rel_error);
        total.max_ulp = std::max(total.max_ulp, j.ulp_error);
        total.share = std::max(total.share, j.share);
        total.cosine_sums.add(a, e);
    }
}

}  // namespace

void load_block(const Operands& operands, int64_t begin, bool with_sums, Block& block) {
    block.begin = begin;
    block.count = std::min(kBlock, operands.count - begin);
    block.expected = operands.expected + begin;
    const auto* actual = static_cast<const std::byte*>(operands.actual);
    widen(operands.component, actual + begin * static_cast<int64_t>(size_of(operands.component)), block.count,
          block.actual.data());
    block.sums = nullptr;
    if (with_sums) load_sums(operands, block);
    if (operands.parts == 2) unite_nans(block);
    const int64_t whole = (block.count + kMostLanes - 1) / kMostLanes * kMostLanes;
    if (whole == block.count) return;
    pad(block.expected, block.padded_expected, block.count, whole);
    if (with_sums) pad(block.sums, block.padded_sums, block.count, whole);
    std::fill(block.actual.begin() + block.count, block.actual.begin() + whole, 0.0);
}

CosineSums& CosineSums::operator+=(const CosineSums& other) {
    dot += other.dot;
    square_actual += other.square_actual;
    square_expected += other.square_expected;
    return *this;
}

double CosineSums::cosine() const {
    if (square_actual == 0 || square_expected == 0) return square_actual == square_expected ? 1 : 0;
    const double cosine = dot / (std::sqrt(square_actual) * std::sqrt(square_expected));
    // Squares of float64 may overflow; an unknown cosine must not look like an error.
    return std::isfinite(cosine) ? std::clamp(cosine, -1.0, 1.0) : 1;
}

Scan scan(const Operands& operands, const Rule& rule, OnMismatch on_mismatch) {
    const auto sweep_block = rule.has_sums ? sweeping<true>() : sweeping<false>();
    Scan total;
    Block block;
    for (int64_t begin = 0; begin < operands.count; begin += kBlock) {
        load_block(operands, begin, rule.has_sums, block);
        if (!sweep_block(block, rule, total)) add_judged(block, rule, total);
        if (total.mismatches > 0 && on_mismatch == OnMismatch::kStop) break;
    }
    return total;
}

}  // namespace diopi
