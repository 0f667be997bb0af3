/// The results of compare as rows, which workers send to their parent as lines of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/ulp_histogram.hpp"
#include "json/json_text.hpp"

namespace diopi {

/// One compared tensor, a call that could not be compared, or a call that is in only one of two captures.
struct CompareRow {
    /// "call 12", "call 12 and 13" of two captures, "call 12 of A", "ops/pointwise_binary.add.17 forward".
    std::string where;
    std::optional<int64_t> forward_id;
    std::string name;         ///< "add.Tensor", "add.Tensor 1th output", "convolution_backward 0th input grad"
    std::string layer;        ///< layer of a captured call
    std::string other_layer;  ///< layer in the second capture, if it differs
    /// For a call in only one capture: that capture. For such a call, and for one out of order: the nearest calls that
    /// both captures have at this place, "call 3, relu (layer1.relu)"; empty at an end.
    std::string only_in, after, before;
    bool out_of_order = false;  ///< both captures have the call, at different places among the others
    std::string overload, function;
    std::string place;    ///< "out"
    std::string tensor;   ///< "float32[4, 5]"
    std::string seed;     ///< numel, sizes, stride, ...: the description of a tensor in the users' format
    std::string skipped;  ///< the reason why the call was not compared; then the members below are unused
    bool allclose = false;
    /// Nothing for a tensor of which both sides are zero up to rounding: its direction and its ratios are noise.
    std::optional<double> cosine = 1, max_rel = 0;
    double max_abs = 0, atol = 0, rtol = 0;
    std::string cast;  ///< "float16 and float32 as float32", if the floating dtypes of the sides differ
    std::string error;
    /// For a tensor that differs: the inputs and outputs of its call, "mat1: numel:24, sizes:[4, 6], ...", "alpha: 1".
    std::vector<std::string> inputs, outputs;
    /// For the first and the other implementation, if the exact values are known.
    std::optional<UlpHistogram> ulp, other_ulp;

    [[nodiscard]] bool compared() const { return skipped.empty() && only_in.empty(); }
    /// True for a tensor that is not allclose, or a call that one capture lacks.
    [[nodiscard]] bool differs() const { return !only_in.empty() || (skipped.empty() && !allclose); }
};

[[nodiscard]] std::string to_json_line(const CompareRow& row);
/// nullopt for a line in another format.
[[nodiscard]] std::optional<CompareRow> compare_row_from_json(std::string_view line);
/// The row in the JSON of such a line. Throws nlohmann::json::exception for another format.
[[nodiscard]] CompareRow compare_row_of(const Json& json);

}  // namespace diopi
