/// One case file: its groups as they are written, checked, before they are expanded into cases. docs/cases.md describes
/// them for users, cases/schema.json for editors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// A tensor of a group in one entry of the zipped lists.
struct GroupEntry {
    bool absent = false;
    std::vector<Shape> shapes;   ///< one shape, or one per tensor of a list of different shapes
    Shape strides;               ///< in elements; empty: row-major
    std::vector<double> values;  ///< values of a literal tensor, in row-major order
};

/// One line of "tensors": an argument, or several equal ones.
struct GroupTensor {
    std::vector<std::string> names;
    std::string list;                 ///< the list argument that it belongs to; empty: none
    std::vector<Dtype> dtypes;        ///< one dtype for all cases, or one per row of dtypes
    std::vector<GroupEntry> entries;  ///< one per entry of the zipped lists
    bool is_list = false;
    int64_t least = 0, most = 0;  ///< tensors in a list of equal shapes, both included; 0: the entries tell
    FillSpec fill;
    bool grad = false;
    bool no_contiguous = false;
    std::string same_as;
    std::vector<bool> sparse = {false};
};

/// A parameter: one value for all cases, or one per entry of the zipped lists.
struct GroupParam {
    std::string name;
    std::vector<Param> values;
};

/// A group of cases that one set of lists describes.
struct CaseGroup {
    std::string file;
    int64_t line = 0;
    std::string pointer;  ///< JSON pointer of the group in its file
    std::string suite;    ///< "ops", or the name of a model
    std::string name;
    std::vector<std::string> ops;
    std::string semantics = "torch";
    bool inplace = false;
    bool random = false;
    Tolerance full;                 ///< for a case without half precision tensors
    Tolerance half = {1e-2, 5e-2};  ///< for a case with at least one
    std::vector<GroupTensor> tensors;
    std::vector<GroupParam> params;
    std::vector<std::pair<std::string, int64_t>> saved;
    std::vector<int64_t> grad_outputs;
    FillSpec grad_fill = kOnesFill;
    int64_t num_entries = 1;  ///< length of the zipped lists
    int64_t num_dtypes = 1;   ///< rows of dtypes

    /// Combinations of dense and sparse.
    [[nodiscard]] int64_t num_sparse() const;
    /// Cases of each operator: entries x dtypes x sparse.
    [[nodiscard]] int64_t cases_per_op() const { return num_entries * num_dtypes * num_sparse(); }
};

/// Reads and checks a case file. A message names file, line and JSON pointer, the wrong value and the expected one.
[[nodiscard]] Result<std::vector<CaseGroup>> read_case_file(const std::string& path);

/// The same from text; `file` is the name that messages use.
[[nodiscard]] Result<std::vector<CaseGroup>> parse_case_file(std::string_view text, const std::string& file);

/// Name of a fill function in case files; null for those that have none (values, captured).
[[nodiscard]] const char* fill_name(Fill fill);

}  // namespace diopi
