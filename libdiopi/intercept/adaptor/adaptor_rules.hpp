/// The requirements of a device for the tensors of its calls: dtypes, layouts, contiguity; by operator and argument.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// Order of the dims in memory, outermost first. kNd: in their own order, for any rank.
enum class TensorLayout : uint8_t { kNcl, kNlc, kNchw, kNhwc, kNcdhw, kNdhwc, kNd };

/// The layout's name: "NCHW".
[[nodiscard]] std::string_view name(TensorLayout layout);
[[nodiscard]] std::optional<TensorLayout> parse_layout(std::string_view text);
/// The names of all layouts.
[[nodiscard]] std::vector<std::string> layout_names();
/// The rank of tensors with that layout; -1: any rank.
[[nodiscard]] int64_t rank_of(TensorLayout layout);
/// The strides of a tensor with that layout and no gaps; `shape` has its rank.
[[nodiscard]] Shape dense_strides(TensorLayout layout, ShapeView shape);

/// Whether the elements have no gaps, in any order, and no two of them overlap.
[[nodiscard]] bool is_dense(const Tensor& tensor);

/// Bits of the significand of a floating or complex dtype.
[[nodiscard]] int digits_of(Dtype dtype);

struct DtypeCast {
    Dtype from, to;
    bool operator==(const DtypeCast&) const = default;
    /// Whether it rounds values: between floating dtypes, or complex ones, to one with fewer digits.
    [[nodiscard]] bool rounds() const;
};

/// "(int64,float64)->float32, (bool)->int32", "int64->int32", or a preset: no_cast, default, cast_float_only, logic_op.
/// A cast that loses more than range and digits (floating to integer, complex to real) is bad input.
[[nodiscard]] Result<std::vector<DtypeCast>> parse_casts(std::string_view text);
/// The names of the presets.
[[nodiscard]] std::vector<std::string> cast_presets();

/// One level of a configuration; members that it does not set are those of the level above.
struct AdaptorRule {
    std::optional<std::vector<DtypeCast>> casts;
    std::optional<std::vector<TensorLayout>> layouts;
    std::optional<bool> contiguous;
};

/// An operator's level, and the levels of its arguments by their C names or by their names in cases.
struct OperatorRule {
    AdaptorRule rule;
    std::map<std::string, AdaptorRule> args;
};

/// The rules for one argument, made from all levels.
class ArgRules {
 public:
    ArgRules();
    void apply(const AdaptorRule& rule);
    /// For tensors that choose elements: bool and uint8 become one of these two, or stay, for as numbers they would
    /// choose places.
    void keep_masks();
    /// Whether any tensor is converted.
    [[nodiscard]] bool any() const;
    [[nodiscard]] Dtype dtype_for(Dtype dtype) const;
    [[nodiscard]] bool narrows() const;
    /// The required form of a tensor, strides included; nullopt if it is not converted. Sparse tensors stay.
    [[nodiscard]] std::optional<TensorSpec> wanted(const Tensor& tensor) const;

 private:
    [[nodiscard]] std::optional<TensorLayout> layout_for(const Tensor& tensor) const;

    static constexpr size_t kDtypes = 17;
    std::array<Dtype, kDtypes> dtypes_;
    std::vector<TensorLayout> layouts_;
    bool contiguous_ = false;
};

/// The rules of all functions. An operator's level can be keyed by its name ("add"), its full name ("add.Scalar") or
/// its C function ("diopiAddInpScalar"): the later key in this list is nearer. The level of an argument is nearer than
/// any operator's, and the nearest level that states a value decides.
class AdaptorRules {
 public:
    AdaptorRules() = default;
    /// Every name in `operators` must be known.
    AdaptorRules(const AdaptorRule& common, const std::map<std::string, OperatorRule>& operators);

    /// The rules by argument; empty if they change no call of the row.
    [[nodiscard]] std::span<const ArgRules> of(const Row& row) const;
    [[nodiscard]] bool empty() const { return by_row_.empty(); }
    /// Whether any floating or complex dtype is cast to one with fewer digits.
    [[nodiscard]] bool narrows() const { return narrows_; }

    /// Narrowed integers are checked: one that does not fit is an error.
    bool check_range = true;

 private:
    bool narrows_ = false;
    std::vector<std::vector<ArgRules>> by_row_;  ///< indexed by row; empty if there are no rules at all
};

}  // namespace diopi
