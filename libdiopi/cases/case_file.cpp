#include "cases/case_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "cases/param_json.hpp"
#include "core/extent.hpp"
#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Kind = JsonNode::Kind;

constexpr std::array kFileKeys = {"$schema", "model", "groups"};
constexpr std::array kGroupKeys = {"group", "ops",     "semantics", "dtypes", "inplace",      "random",   "tolerance",
                                   "fill",  "tensors", "params",    "saved",  "grad_outputs", "grad_fill"};
constexpr std::array kTensorKeys = {"name",    "list",          "shapes",  "shape_lists", "count", "values", "dtypes",
                                    "strides", "no_contiguous", "same_as", "sparse",      "fill",  "grad"};
constexpr std::array kToleranceKeys = {"atol", "rtol", "half", "mismatch_ratio", "instead_of_class"};
constexpr std::array kHalfKeys = {"atol", "rtol"};
constexpr std::array kFillKeys = {"fn", "low", "high", "density"};
constexpr std::array kSemantics = {"torch",        "torch.nn.functional", "torch.Tensor",
                                   "torch.linalg", "torchvision.ops",     "diopi"};

constexpr int64_t kMostCases = 1'000'000;
constexpr int64_t kMostTensors = 1024;  // in a list
constexpr const char* kShape = "a shape (a list of sizes, or null for an absent tensor)";
constexpr std::array kDefaultDtypes = {Dtype::float16, Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64};

struct FillName {
    const char* name;
    Fill fill;
};
/// Fill::kValue has no name, because a file lists the "values"; nor has kCaptured, which only an option gives.
constexpr std::array kFills = {
    FillName{"rand", Fill::kRand},
    FillName{"randn", Fill::kRandn},
    FillName{"uniform", Fill::kUniform},
    FillName{"empty", Fill::kEmpty},
    FillName{"ones", Fill::kOnes},
    FillName{"zeros", Fill::kZeros},
    FillName{"mask", Fill::kMask},
    FillName{"randint", Fill::kRandint},
    FillName{"positive", Fill::kPositive},
    FillName{"sym_mat", Fill::kSymMat},
    FillName{"randn_int", Fill::kRandnInt},
    FillName{"randn_complex", Fill::kRandnComplex},
    FillName{"log_softmax", Fill::kLogSoftmax},
    FillName{"exact", Fill::kExact},
    FillName{"signed", Fill::kRandn},
    FillName{"special", Fill::kSpecial},
    FillName{"special_sums", Fill::kSpecialSums},
    FillName{"special_factors", Fill::kSpecialFactors},
    FillName{"wide", Fill::kWide},
    FillName{"ties", Fill::kTies},
    FillName{"cancelling", Fill::kCancelling},
};

bool is_identifier(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

/// Whether the last element of a strided tensor has an offset in bytes that fits in int64.
bool spans_memory(const GroupEntry& entry) {
    const Shape& shape = entry.shapes.front();
    int64_t last = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
        int64_t reach = 0;
        if (__builtin_mul_overflow(std::max<int64_t>(shape[i], 1) - 1, entry.strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last)) {
            return false;
        }
    }
    return is_addressable(Shape{last});
}

/// Turns the tree of a file into groups. Every step returns false after it has stated the first error.
class CaseFileReader : public JsonReader {
 public:
    using JsonReader::JsonReader;
    using JsonReader::read;

    bool read(std::vector<CaseGroup>& groups);

 private:
    bool read_fill(const JsonNode& node, FillSpec& fill);
    bool read_tolerance(const JsonNode& node, CaseGroup& group);

    bool read_group(const JsonNode& node, CaseGroup& group);
    /// Refuses a group that expands to more cases than anyone could run.
    bool check_size(const JsonNode& node, const CaseGroup& group);
    bool read_names(const JsonNode& node, CaseGroup& group);
    bool read_checks(const JsonNode& node, CaseGroup& group);
    bool read_tensors(const JsonNode& node, CaseGroup& group);
    bool read_params(const JsonNode& node, CaseGroup& group);

    bool read_tensor(const JsonNode& node, const FillSpec& group_fill, GroupTensor& tensor);
    bool read_tensor_names(const JsonNode& node, GroupTensor& tensor);
    bool read_entries(const JsonNode& node, GroupTensor& tensor);
    bool read_count(const JsonNode& node, GroupTensor& tensor);
    bool read_strides(const JsonNode& node, GroupTensor& tensor);
    bool read_sparse(const JsonNode& node, GroupTensor& tensor);
    bool read_literal(const JsonNode& node, size_t depth, GroupEntry& entry);

    bool set_dtypes(const JsonNode& node, CaseGroup& group);
    /// Requires all zipped lists to be as long as the first one.
    bool zip(const JsonNode& list, int64_t length, const std::string& what);

    std::string zipped_by_;  ///< the list that decided the length of the zipped lists of this group; empty: none yet
    int64_t zipped_length_ = 1;
};

bool CaseFileReader::read_fill(const JsonNode& node, FillSpec& fill) {
    fill = FillSpec();
    const JsonNode* fn = &node;
    if (node.is(Kind::kObject)) {
        if (!check_keys(node, kFillKeys) || !require(node, "fn")) return false;
        fn = node.find("fn");
    }
    std::string text;
    if (!read_text(*fn, "the name of a fill function", text)) return false;
    const auto* found =
        std::find_if(kFills.begin(), kFills.end(), [&](const FillName& row) { return row.name == text; });
    if (found == kFills.end()) {
        std::vector<std::string> known;
        for (const FillName& row : kFills) known.emplace_back(row.name);
        return unknown(*fn, "fill", text, known);
    }
    fill.fn = found->fill;
    const bool ranged = fill.fn == Fill::kUniform || fill.fn == Fill::kRandint || fill.fn == Fill::kRandnInt;
    for (const char* key : {"low", "high"}) {
        const JsonNode* bound = node.find(key);
        if (bound == nullptr) continue;
        if (!ranged) return fail(*bound, fmt::format("'{}' takes no range", text));
        if (!read_number(*bound, key == std::string_view("low") ? fill.low : fill.high)) return false;
    }
    if (ranged && fill.low >= fill.high) {
        return fail(node, fmt::format("the range [{}, {}) is empty", fill.low, fill.high));
    }
    if (const JsonNode* density = node.find("density")) {
        if (!read_number(*density, fill.density)) return false;
        if (fill.density < 0 || fill.density > 1) return fail(*density, "a density lies between 0 and 1");
    }
    return true;
}

bool CaseFileReader::read_tolerance(const JsonNode& node, CaseGroup& group) {
    if (!check_keys(node, kToleranceKeys)) return false;
    const auto read = [&](const JsonNode& from, const char* key, double& value, bool& stated) {
        const JsonNode* item = from.find(key);
        if (item == nullptr) return true;
        stated = true;
        if (!read_number(*item, value)) return false;
        return value >= 0 || fail(*item, "a tolerance cannot be negative");
    };
    Tolerance& full = group.full;
    Tolerance& half = group.half;
    if (!read(node, "atol", full.atol, full.stated) || !read(node, "rtol", full.rtol, full.stated)) return false;
    if (const JsonNode* item = node.find("half")) {
        if (!check_keys(*item, kHalfKeys)) return false;
        if (!read(*item, "atol", half.atol, half.stated) || !read(*item, "rtol", half.rtol, half.stated)) return false;
    }
    bool ratio_stated = false;
    if (!read(node, "mismatch_ratio", full.mismatch_ratio, ratio_stated)) return false;
    half.mismatch_ratio = full.mismatch_ratio;
    if (const JsonNode* item = node.find("instead_of_class")) {
        bool instead = false;
        if (!this->read(*item, instead)) return false;
        if (instead) full.instead = half.instead = Tolerance::Instead::kTolerance;
    }
    return true;
}

bool CaseFileReader::read(std::vector<CaseGroup>& groups) {
    if (!check_keys(root(), kFileKeys) || !require(root(), "groups")) return false;
    std::string suite = "ops";
    if (const JsonNode* model = root().find("model")) {
        if (!read_text(*model, "the name of a model", suite)) return false;
        if (!is_identifier(suite)) return fail(*model, "a name has letters, digits and underscores");
        if (suite == "ops") return fail(*model, "no model can be named 'ops': operator cases leave the key out");
    }
    const JsonNode& list = *root().find("groups");
    if (!read_list(list, "a list of groups")) return false;
    for (const JsonNode& node : list.items) {
        CaseGroup group;
        group.file = where();
        group.line = node.line;
        group.pointer = pointer_of(root(), node);
        group.suite = suite;
        if (!read_group(node, group)) return false;
        for (const CaseGroup& other : groups) {
            if (other.name == group.name) {
                return fail(*node.find("group"),
                            fmt::format("the group '{}' stands in line {} already", group.name, other.line));
            }
        }
        groups.push_back(std::move(group));
    }
    return true;
}

bool CaseFileReader::read_group(const JsonNode& node, CaseGroup& group) {
    zipped_by_.clear();
    zipped_length_ = 1;
    if (!check_keys(node, kGroupKeys)) return false;
    if (!read_names(node, group) || !read_checks(node, group)) return false;
    if (!read_tensors(node, group) || !read_params(node, group)) return false;
    group.num_entries = zipped_length_;
    return check_size(node, group);
}

bool CaseFileReader::check_size(const JsonNode& node, const CaseGroup& group) {
    int64_t cases = static_cast<int64_t>(group.ops.size());
    bool beyond = __builtin_mul_overflow(cases, group.num_entries, &cases);
    beyond |= __builtin_mul_overflow(cases, group.num_dtypes, &cases);
    for (const GroupTensor& tensor : group.tensors) {
        for (size_t i = 0; i < tensor.names.size(); ++i) {
            beyond |= __builtin_mul_overflow(cases, static_cast<int64_t>(tensor.sparse.size()), &cases);
        }
    }
    if (!beyond && cases <= kMostCases) return true;
    return fail(node, fmt::format("the group expands to more than {} cases: split it", kMostCases));
}

bool CaseFileReader::read_names(const JsonNode& node, CaseGroup& group) {
    if (!require(node, "group") || !require(node, "ops")) return false;
    const JsonNode& name = *node.find("group");
    if (!read_text(name, "the name of the group", group.name)) return false;
    if (!is_identifier(group.name)) return fail(name, "a name has letters, digits and underscores");

    const JsonNode& ops = *node.find("ops");
    if (!read_list(ops, "a list of operators")) return false;
    for (const JsonNode& item : ops.items) {
        std::string op;
        if (!read_text(item, "the name of an operator", op)) return false;
        if (!is_identifier(op)) return fail(item, "a name has letters, digits and underscores");
        if (std::find(group.ops.begin(), group.ops.end(), op) != group.ops.end()) {
            return fail(item, fmt::format("the operator '{}' occurs twice", op));
        }
        group.ops.push_back(op);
    }
    if (const JsonNode* item = node.find("semantics")) {
        if (!read_text(*item, "the name of the semantics", group.semantics)) return false;
        if (std::find(kSemantics.begin(), kSemantics.end(), group.semantics) == kSemantics.end()) {
            const std::vector<std::string> known(kSemantics.begin(), kSemantics.end());
            return fail(*item, fmt::format("unknown semantics '{}'; known: {}", group.semantics, join(known)));
        }
    }
    return true;
}

bool CaseFileReader::read_checks(const JsonNode& node, CaseGroup& group) {
    if (const JsonNode* item = node.find("inplace"); item && !read(*item, group.inplace)) return false;
    if (const JsonNode* item = node.find("random"); item && !read(*item, group.random)) return false;
    if (const JsonNode* item = node.find("tolerance"); item && !read_tolerance(*item, group)) return false;
    if (const JsonNode* saved = node.find("saved")) {
        if (!saved->is(Kind::kObject)) return wrong_kind(*saved, "an object: backward argument to index of an output");
        for (size_t i = 0; i < saved->items.size(); ++i) {
            const JsonNode& index = saved->items[i];
            if (!index.is(Kind::kInteger) || index.integer < 0) return wrong_kind(index, "the index of an output");
            group.saved.emplace_back(saved->keys[i], index.integer);
        }
    }
    if (const JsonNode* outputs = node.find("grad_outputs")) {
        if (!read_list(*outputs, "a list of indices of outputs")) return false;
        for (const JsonNode& index : outputs->items) {
            if (!index.is(Kind::kInteger) || index.integer < 0) return wrong_kind(index, "the index of an output");
            group.grad_outputs.push_back(index.integer);
        }
    }
    if (const JsonNode* fill = node.find("grad_fill")) {
        if (!read_fill(*fill, group.grad_fill)) return false;
        if (group.grad_fill.fn == Fill::kEmpty) return fail(*fill, "a gradient is read; 'empty' gives it no values");
    }
    return true;
}

bool CaseFileReader::read_tensors(const JsonNode& node, CaseGroup& group) {
    const JsonNode* list = node.find("tensors");
    if (list == nullptr) {
        for (const char* key : {"dtypes", "fill"}) {
            const JsonNode* item = node.find(key);
            if (item) return fail(*item, fmt::format("'{}' cannot be used in a group without tensors", key));
        }
        return true;
    }
    FillSpec group_fill;
    if (const JsonNode* fill = node.find("fill"); fill && !read_fill(*fill, group_fill)) return false;
    if (!read_list(*list, "a list of tensors")) return false;
    std::vector<std::string> names;
    for (const JsonNode& item : list->items) {
        GroupTensor tensor;
        if (!read_tensor(item, group_fill, tensor)) return false;
        for (const std::string& name : tensor.names) {
            if (std::find(names.begin(), names.end(), name) != names.end()) {
                return fail(*item.find("name"), fmt::format("the tensor '{}' occurs twice", name));
            }
            names.push_back(name);
        }
        group.tensors.push_back(std::move(tensor));
    }
    return set_dtypes(node, group);
}

bool CaseFileReader::set_dtypes(const JsonNode& node, CaseGroup& group) {
    const JsonNode* list = node.find("dtypes");
    const JsonNode& tensors = *node.find("tensors");
    std::vector<Dtype> common;
    if (list != nullptr) {
        if (!read_dtypes(*list, common)) return false;
    } else if (std::all_of(group.tensors.begin(), group.tensors.end(),
                           [](const GroupTensor& tensor) { return tensor.dtypes.empty(); })) {
        common.assign(kDefaultDtypes.begin(), kDefaultDtypes.end());
    }
    std::string decided_by;
    for (size_t i = 0; i < group.tensors.size(); ++i) {
        GroupTensor& tensor = group.tensors[i];
        const JsonNode* own = tensors.items[i].find("dtypes");
        if (own == nullptr) {
            if (common.empty()) {
                return fail(tensors.items[i], fmt::format("'{}' has no dtypes, others do: give it its own or give the "
                                                          "group \"dtypes\"",
                                                          tensor.names.front()));
            }
            tensor.dtypes = common;
        }
        const auto length = static_cast<int64_t>(tensor.dtypes.size());
        if (length == 1) continue;
        if (!decided_by.empty() && length != group.num_dtypes) {
            const JsonNode& at = own ? *own : list ? *list : tensors.items[i];
            return fail(at, fmt::format("{} dtypes for '{}', but {} for '{}': the lists are matched index by index, "
                                        "only a list of one serves every row",
                                        length, tensor.names.front(), group.num_dtypes, decided_by));
        }
        group.num_dtypes = length;
        decided_by = tensor.names.front();
    }
    return true;
}

bool CaseFileReader::read_tensor(const JsonNode& node, const FillSpec& group_fill, GroupTensor& tensor) {
    if (!check_keys(node, kTensorKeys) || !read_tensor_names(node, tensor)) return false;
    if (!read_entries(node, tensor) || !read_count(node, tensor) || !read_strides(node, tensor)) return false;
    if (const JsonNode* item = node.find("dtypes"); item && !read_dtypes(*item, tensor.dtypes)) return false;
    if (const JsonNode* item = node.find("grad"); item && !read(*item, tensor.grad)) return false;
    if (const JsonNode* item = node.find("no_contiguous"); item && !read(*item, tensor.no_contiguous)) return false;
    if (const JsonNode* item = node.find("same_as");
        item && !read_text(*item, "the name of a tensor of the group", tensor.same_as)) {
        return false;
    }
    tensor.fill = group_fill;
    const JsonNode* fill = node.find("fill");
    if (fill != nullptr && !read_fill(*fill, tensor.fill)) return false;
    if (node.find("values") != nullptr) {
        if (fill != nullptr) return fail(*fill, "a tensor has either 'values' or a 'fill'");
        tensor.fill = FillSpec();
        tensor.fill.fn = Fill::kValue;
    }
    return read_sparse(node, tensor);
}

bool CaseFileReader::read_tensor_names(const JsonNode& node, GroupTensor& tensor) {
    if (!require(node, "name")) return false;
    const JsonNode& name = *node.find("name");
    const std::span<const JsonNode> items =
        name.is(Kind::kList) ? std::span<const JsonNode>(name.items) : std::span<const JsonNode>(&name, 1);
    if (items.empty()) return fail(name, "expected the name of an argument, or a list of names");
    for (const JsonNode& item : items) {
        std::string text;
        if (!read_text(item, "the name of an argument", text)) return false;
        if (!is_identifier(text)) return fail(item, "a name has letters, digits and underscores");
        tensor.names.push_back(text);
    }
    if (const JsonNode* list = node.find("list")) return read_text(*list, "the name of a list argument", tensor.list);
    return true;
}

bool CaseFileReader::read_entries(const JsonNode& node, GroupTensor& tensor) {
    const JsonNode* list = nullptr;
    const char* kind = "";
    for (const char* key : {"shapes", "shape_lists", "values"}) {
        const JsonNode* item = node.find(key);
        if (item == nullptr) continue;
        if (list != nullptr) return fail(*item, fmt::format("a tensor has either '{}' or '{}'", kind, key));
        list = item;
        kind = key;
    }
    if (list == nullptr) return fail(node, "one of 'shapes', 'shape_lists' and 'values' is missing");
    const bool lists = kind == std::string_view("shape_lists");
    const bool literal = kind == std::string_view("values");
    tensor.is_list = lists;
    if (!read_list(*list, lists ? "a list of lists of shapes" : literal ? "a list of values" : "a list of shapes")) {
        return false;
    }
    for (const JsonNode& item : list->items) {
        GroupEntry entry;
        entry.absent = item.is(Kind::kNull);
        if (entry.absent) {
            // There is nothing to read.
        } else if (literal) {
            entry.shapes.emplace_back();
            if (!read_literal(item, 0, entry)) return false;
        } else if (lists) {
            if (!item.is(Kind::kList)) return wrong_kind(item, "a list of shapes");
            for (const JsonNode& shape : item.items) {
                if (!read_shape(shape, kShape, entry.shapes.emplace_back())) return false;
            }
        } else if (!read_shape(item, kShape, entry.shapes.emplace_back())) {
            return false;
        }
        tensor.entries.push_back(std::move(entry));
    }
    return zip(*list, static_cast<int64_t>(tensor.entries.size()), tensor.names.front());
}

bool CaseFileReader::zip(const JsonNode& list, int64_t length, const std::string& what) {
    if (zipped_by_.empty()) {
        zipped_by_ = what;
        zipped_length_ = length;
        return true;
    }
    if (length == zipped_length_) return true;
    return fail(list, fmt::format("{} entries for '{}', but {} for '{}': lists of shapes, values and parameters are "
                                  "matched index by index",
                                  length, what, zipped_length_, zipped_by_));
}

bool CaseFileReader::read_literal(const JsonNode& node, size_t depth, GroupEntry& entry) {
    Shape& shape = entry.shapes.front();
    if (!node.is(Kind::kList)) {
        if (depth != shape.size()) return fail(node, "the rows of a tensor differ in depth");
        if (const auto special = node.is(Kind::kText) ? special_number(node.text) : std::nullopt) {
            entry.values.push_back(*special);
        } else if (node.is(Kind::kBool)) {
            entry.values.push_back(node.boolean ? 1 : 0);
        } else if (node.is_number()) {
            entry.values.push_back(node.real);
        } else {
            return wrong_kind(node, "a number, true or false, \"nan\", \"inf\" or \"-inf\"");
        }
        return true;
    }
    const auto length = static_cast<int64_t>(node.items.size());
    if (depth == shape.size()) {
        if (!entry.values.empty()) return fail(node, "the rows of a tensor differ in depth");
        shape.push_back(length);
    } else if (shape[depth] != length) {
        return fail(node, fmt::format("the rows of a tensor differ in length: {} and {}", shape[depth], length));
    }
    return std::all_of(node.items.begin(), node.items.end(),
                       [&](const JsonNode& item) { return read_literal(item, depth + 1, entry); });
}

bool CaseFileReader::read_count(const JsonNode& node, GroupTensor& tensor) {
    const JsonNode* count = node.find("count");
    if (count == nullptr) return true;
    if (node.find("shapes") == nullptr) return fail(*count, "'count' goes with 'shapes'");
    tensor.is_list = true;
    const bool pair = count->is(Kind::kList) && count->items.size() == 2;
    const JsonNode& least = pair ? count->items[0] : *count;
    const JsonNode& most = pair ? count->items[1] : *count;
    if (!least.is(Kind::kInteger) || !most.is(Kind::kInteger)) {
        return wrong_kind(*count, "a number of tensors or a pair [least, most]");
    }
    if (least.integer < 1 || most.integer < least.integer) {
        return fail(*count, "a count is at least 1, and the least is not above the most");
    }
    if (most.integer > kMostTensors) return fail(*count, fmt::format("a list has at most {} tensors", kMostTensors));
    tensor.least = least.integer;
    tensor.most = most.integer;
    return true;
}

bool CaseFileReader::read_strides(const JsonNode& node, GroupTensor& tensor) {
    const JsonNode* list = node.find("strides");
    if (list == nullptr) return true;
    if (node.find("shapes") == nullptr) return fail(*list, "'strides' go with 'shapes'");
    if (!read_list(*list, "a list of strides")) return false;
    if (list->items.size() > tensor.entries.size()) {
        return fail(*list, fmt::format("{} strides for {} shapes", list->items.size(), tensor.entries.size()));
    }
    for (size_t i = 0; i < list->items.size(); ++i) {
        const JsonNode& item = list->items[i];
        GroupEntry& entry = tensor.entries[i];
        if (item.is(Kind::kNull)) continue;
        if (entry.absent) return fail(item, "strides for an absent tensor");
        if (!item.is(Kind::kList)) return wrong_kind(item, "strides (a list of integers, or null for row-major)");
        for (const JsonNode& stride : item.items) {
            if (!stride.is(Kind::kInteger)) return wrong_kind(stride, "a stride (an integer)");
            if (stride.integer < 0) return fail(stride, fmt::format("a stride cannot be negative: {}", stride.integer));
            entry.strides.push_back(stride.integer);
        }
        if (entry.strides.size() != entry.shapes.front().size()) {
            return fail(item, fmt::format("{} strides for the shape {}", entry.strides.size(),
                                          to_string(entry.shapes.front())));
        }
        if (!spans_memory(entry)) return fail(item, "the size in bytes overflows 64 bits");
    }
    return true;
}

bool CaseFileReader::read_sparse(const JsonNode& node, GroupTensor& tensor) {
    const JsonNode* sparse = node.find("sparse");
    if (sparse == nullptr) return true;
    const std::span<const JsonNode> items =
        sparse->is(Kind::kList) ? std::span<const JsonNode>(sparse->items) : std::span<const JsonNode>(sparse, 1);
    tensor.sparse.clear();
    for (const JsonNode& item : items) {
        bool value = false;
        if (!read(item, value)) return false;
        tensor.sparse.push_back(value);
    }
    if (tensor.sparse.empty()) return fail(*sparse, "expected true, false or a list of both");
    for (const GroupEntry& entry : tensor.entries) {
        if (entry.absent || (!tensor.is_list && entry.shapes.front().size() == 2)) continue;
        return fail(*sparse, "a sparse (CSR) tensor has two dimensions");
    }
    return true;
}

bool CaseFileReader::read_params(const JsonNode& node, CaseGroup& group) {
    const JsonNode* params = node.find("params");
    if (params == nullptr) return true;
    if (!params->is(Kind::kObject)) return wrong_kind(*params, "an object: parameter to list of values");
    for (size_t i = 0; i < params->items.size(); ++i) {
        const JsonNode& item = params->items[i];
        GroupParam param{params->keys[i], {}};
        for (const GroupTensor& tensor : group.tensors) {
            if (std::find(tensor.names.begin(), tensor.names.end(), param.name) == tensor.names.end()) continue;
            return fail(item, fmt::format("'{}' is a tensor of this group already", param.name));
        }
        if (item.is(Kind::kList)) {
            if (!read_list(item, "a list of values, one per case")) return false;
            if (!zip(item, static_cast<int64_t>(item.items.size()), param.name)) return false;
            for (const JsonNode& value : item.items) {
                if (!read_param(*this, value, param.values.emplace_back())) return false;
            }
        } else if (!read_param(*this, item, param.values.emplace_back())) {
            return false;
        }
        group.params.push_back(std::move(param));
    }
    return true;
}

}  // namespace

const char* fill_name(Fill fill) {
    const auto* found =
        std::find_if(kFills.begin(), kFills.end(), [&](const FillName& row) { return row.fill == fill; });
    return found == kFills.end() ? nullptr : found->name;
}

int64_t CaseGroup::num_sparse() const {
    int64_t combinations = 1;
    for (const GroupTensor& tensor : tensors) {
        for (size_t i = 0; i < tensor.names.size(); ++i) combinations *= static_cast<int64_t>(tensor.sparse.size());
    }
    return combinations;
}

Result<std::vector<CaseGroup>> parse_case_file(std::string_view text, const std::string& file) {
    const Result<JsonNode> root = parse_json(text, file);
    if (!root.ok()) return root.error();
    std::vector<CaseGroup> groups;
    CaseFileReader reader(file, *root);
    if (!reader.read(groups)) return reader.error();
    return groups;
}

Result<std::vector<CaseGroup>> read_case_file(const std::string& path) {
    const Result<std::string> text = read_json_text(path, "case file");
    if (!text.ok()) return text.error();
    return parse_case_file(*text, path);
}

}  // namespace diopi
