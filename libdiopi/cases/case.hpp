/// A test case: an operator, its tensors as specifications, its parameters, its tolerances and its checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "check/verdict.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// A parameter, one of JSON's types: null, bool, integer, floating, text or a list.
struct Param {
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Param>> value;
    bool operator==(const Param&) const = default;
};

/// The kinds of generators of a tensor's values; docs/cases.md defines each.
enum class Fill {
    kRand,
    kRandn,
    kUniform,
    kEmpty,
    kOnes,
    kZeros,
    kMask,
    kRandint,
    kPositive,
    kSymMat,
    kRandnInt,
    kRandnComplex,
    kLogSoftmax,
    kValue,
    kExact,
    kSpecial,
    kSpecialSums,
    kSpecialFactors,
    kWide,
    kTies,
    kCancelling,
    kCaptured
};

/// A generator with its range [low, high), and the share of non-zeros of a sparse tensor.
struct FillSpec {
    Fill fn = Fill::kRandn;
    double low = 0;
    double high = 10;
    double density = 0.2;
    bool operator==(const FillSpec&) const = default;
};

inline constexpr FillSpec kOnesFill = {Fill::kOnes};

/// One tensor argument of a case, or a list of tensors.
struct CaseTensor {
    std::string name;
    /// The tensor is an element of the list argument of this name, in file order; an absent one is a null element.
    std::string list;
    bool absent = false;            ///< the argument is null in this case
    bool is_list = false;           ///< a list of tensors rather than one
    std::vector<TensorSpec> specs;  ///< one element, or one per tensor of the list
    FillSpec fill;
    std::vector<double> values;  ///< with Fill::kValue: the elements in row-major order
    /// With Fill::kCaptured: values that are taken in order and repeated; contiguous, of a wide dtype, not empty.
    std::shared_ptr<const Tensor> captured;
    bool requires_grad = false;
    bool no_contiguous = false;  ///< lay the tensor out as a non-contiguous view
    bool sparse_csr = false;     ///< a CSR tensor of that shape
    /// A tensor before this one, of the same specs: both arguments are that one object.
    std::string same_as;
    bool operator==(const CaseTensor&) const = default;
};

/// A step of a case that is not to run: "forward", "inplace" or "backward".
struct StepSkip {
    std::string step;
    std::string reason;
};

/// Changes of the layout that the case states, in a device's memory; layout.hpp.
struct LayoutOptions {
    bool strided = false;    ///< non-contiguous views
    bool wide = false;       ///< over more than 2^31 elements
    bool host = false;       ///< the layouts of other hosts of the standard
    bool unaligned = false;  ///< one element behind an aligned address
    bool results = false;    ///< outputs, and the gradients of results, alone: dense, the first dim innermost
    bool nhwc = false;       ///< with the channels innermost
    int nhwc_min_dim = 3;    ///< ... for tensors that have this many dims
    bool operator==(const LayoutOptions&) const = default;
};

/// The dims along which the gradients of results repeat their elements (stride 0), as that of a sum does: none, the
/// first or the last one that has several elements, or all.
enum class Repeats : uint8_t { kNone, kFirst, kLast, kAll };

/// The change of one argument that makes a call bad: the standard defines no result for it.
struct BadCall {
    enum class Change : uint8_t {
        kNull,    ///< a null handle
        kLonger,  ///< the last dim of a tensor has one element more
        kDtype,   ///< a tensor has the dtype `dtype`
        kNumber,  ///< a number, or the first of a list, is `number`
        kIndex,   ///< the first element of a tensor of indices is `number`
        kEmpty,   ///< a tensor has no elements
        kPower    ///< the exponent is -1, and all floating tensors are int32
    };
    std::string step;  ///< "forward", "inplace" or "backward"
    std::string arg;   ///< C name
    Change change = Change::kNull;
    Dtype dtype = Dtype::float32;
    int64_t number = 0;
    bool must_fail = false;  ///< the standard says that it is an error: success is a failure, not advice

    /// "input is null", "the last dim of out is one longer", "input is empty", "exponent is -1, of int32", "index is
    /// float32", "dim is 7", "indices[0] is 1073741824".
    [[nodiscard]] std::string text() const;
};

/// The suite of the cases that are generated from the schema (hard/hard_cases.hpp).
inline constexpr std::string_view kHardSuite = "hard";
/// The suite of bad calls (conformance/bad_calls.hpp).
inline constexpr std::string_view kBadSuite = "bad";

struct RecordedCall;

/// One expanded case. The same files and the same index give the same case on every machine.
struct Case {
    std::string suite;      ///< "ops", "hard", or the name of the model or capture
    std::string group;      ///< name of its group in the case file
    std::string op;         ///< operator name as schema rows have it
    int64_t index = 0;      ///< position among the cases of (suite, group, op)
    std::string semantics;  ///< the library whose definition holds: torch, torch.nn.functional, diopi, ...
    std::vector<CaseTensor> tensors;
    std::vector<std::pair<std::string, Param>> params;
    /// Parameters of another call on the same tensors, with outputs of the same specs, that a library may confuse with
    /// the case's; empty: none is known.
    std::vector<std::pair<std::string, Param>> other_params;
    Tolerance tolerance;
    bool inplace = false;   ///< also run in place
    bool backward = false;  ///< also run backward
    bool random = false;    ///< no expected output: a distribution is tested
    /// Backward argument name -> index of the forward output that is saved for it.
    std::vector<std::pair<std::string, int64_t>> saved;
    /// Forward outputs that get a gradient; empty means all of them.
    std::vector<int64_t> grad_outputs;
    FillSpec grad_fill = kOnesFill;  ///< fill of those gradients
    Repeats grad_repeats = Repeats::kNone;
    /// Steps that a device configuration skips.
    std::vector<StepSkip> skipped_steps;
    bool four_bytes = false;  ///< outputs that are indices have 4 bytes instead of 8
    LayoutOptions layout;
    /// The choices that made a hard case, by factor (hard/hard_cases.hpp), such as {"layout", "first transposed"}.
    std::vector<std::pair<std::string, std::string>> choices;
    bool varied = false;  ///< its tensors are not those of the case file: no stored baseline fits
    /// The only call of a case of a capture, with its tensors; null for a case of a file.
    std::shared_ptr<const RecordedCall> recorded;
    /// The change of the only call of a case of bad calls, which the library should refuse.
    std::optional<BadCall> bad;

    /// "ops/pointwise_binary.add.17": what --case accepts and every report prints. "hard/add.0.17" for a hard case,
    /// whose group is the seed, "bad/add.3" for a bad call, "resnet18/add.17" for call 17 of a capture.
    [[nodiscard]] std::string id() const;
    /// The whole case as text: two cases with the same fingerprint make the same calls.
    [[nodiscard]] std::string fingerprint() const;
    /// Key of the case's random numbers: a hash of id() and the run's seed.
    [[nodiscard]] uint64_t key(uint64_t seed) const;
    /// Whether any tensor has this dtype.
    [[nodiscard]] bool uses(Dtype dtype) const;
    /// dtype of the first tensor that is there, float32 when none is.
    [[nodiscard]] Dtype dtype() const;
    [[nodiscard]] const Param* param(std::string_view name) const;
    /// The reason why a step is not run; null when it is.
    [[nodiscard]] const std::string* skip_reason(std::string_view step) const;
};

}  // namespace diopi
