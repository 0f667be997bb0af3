#include "cases/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include "core/philox.hpp"
#include "core/suggest.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

/// Paths of the .json files of a folder, sorted by name; empty when there is no such folder.
std::vector<fs::path> json_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

Dtype dtype_of(const GroupTensor& tensor, int64_t row) {
    return tensor.dtypes.size() == 1 ? tensor.dtypes.front() : tensor.dtypes[static_cast<size_t>(row)];
}

/// Whether a gradient flows into that tensor: it is requested, the tensor is there, and its values are continuous.
bool takes_gradient(const GroupTensor& tensor, int64_t entry, int64_t row) {
    const Dtype dtype = dtype_of(tensor, row);
    return tensor.grad && !tensor.entries[static_cast<size_t>(entry)].absent &&
           (is_floating(dtype) || is_complex(dtype));
}

bool runs_backward(const CaseGroup& group, int64_t entry, int64_t row) {
    return std::any_of(group.tensors.begin(), group.tensors.end(),
                       [&](const GroupTensor& tensor) { return takes_gradient(tensor, entry, row); });
}

/// Draws the number of tensors in a case's lists. It depends on the case's id alone, not on the seed of a run.
int64_t draw_count(const GroupTensor& tensor, const Case& made) {
    const auto choices = static_cast<uint64_t>(tensor.most - tensor.least + 1);
    return tensor.least + static_cast<int64_t>(philox(made.key(0), 0, 0)[0] % choices);
}

CaseTensor make_tensor(const GroupTensor& tensor, const std::string& name, const Case& made, int64_t entry_index,
                       int64_t row) {
    const GroupEntry& entry = tensor.entries[static_cast<size_t>(entry_index)];
    CaseTensor out;
    out.name = name;
    out.list = tensor.list;
    out.absent = entry.absent;
    out.is_list = tensor.is_list;
    out.fill = tensor.fill;
    out.requires_grad = takes_gradient(tensor, entry_index, row);
    out.no_contiguous = tensor.no_contiguous;
    out.same_as = tensor.same_as;
    if (entry.absent) return out;
    const Dtype dtype = dtype_of(tensor, row);
    out.values = entry.values;
    for (const Shape& shape : entry.shapes) out.specs.push_back({shape, dtype, entry.strides});
    if (tensor.least > 0) {
        const TensorSpec spec = out.specs.front();
        out.specs.assign(static_cast<size_t>(draw_count(tensor, made)), spec);
    }
    return out;
}

/// Case number `index` of an operator: index = (entry * dtypes + row) * sparse combinations + combination.
Case make_case(const CaseGroup& group, const std::string& op, int64_t index) {
    const int64_t num_sparse = group.num_sparse();
    int64_t combination = index % num_sparse;
    const int64_t row = index / num_sparse % group.num_dtypes;
    const int64_t entry = index / num_sparse / group.num_dtypes;

    Case made;
    made.suite = group.suite;
    made.group = group.name;
    made.op = op;
    made.index = index;
    made.semantics = group.semantics;
    made.inplace = group.inplace;
    made.backward = runs_backward(group, entry, row);
    made.random = group.random;
    made.saved = group.saved;
    made.grad_outputs = group.grad_outputs;
    made.grad_fill = group.grad_fill;
    bool half = false;
    for (const GroupTensor& tensor : group.tensors) {
        for (const std::string& name : tensor.names) {
            CaseTensor& out = made.tensors.emplace_back(make_tensor(tensor, name, made, entry, row));
            const auto choices = static_cast<int64_t>(tensor.sparse.size());
            out.sparse_csr = tensor.sparse[static_cast<size_t>(combination % choices)] && !out.absent;
            combination /= choices;
            half = half || (!out.absent && is_half(dtype_of(tensor, row)));
        }
    }
    for (const GroupParam& param : group.params) {
        const bool constant = param.values.size() == 1;
        made.params.emplace_back(param.name, param.values[constant ? 0 : static_cast<size_t>(entry)]);
    }
    made.tolerance = half ? group.half : group.full;
    return made;
}

}  // namespace

CaseCounts& CaseCounts::operator+=(const CaseCounts& other) {
    total += other.total;
    inplace += other.inplace;
    backward += other.backward;
    random += other.random;
    return *this;
}

std::vector<Case> expand(const CaseGroup& group, const NameChoice& ops) {
    std::vector<Case> cases;
    const int64_t size = group.cases_per_op();
    for (const std::string& op : group.ops) {
        if (!ops.matches(op)) continue;
        for (int64_t index = 0; index < size; ++index) cases.push_back(make_case(group, op, index));
    }
    return cases;
}

std::vector<Case> expand(const CaseGroup& group) { return expand(group, {}); }

CaseCounts count(const CaseGroup& group) {
    const auto num_ops = static_cast<int64_t>(group.ops.size());
    CaseCounts counts;
    counts.total = num_ops * group.cases_per_op();
    counts.inplace = group.inplace ? counts.total : 0;
    counts.random = group.random ? counts.total : 0;
    for (int64_t entry = 0; entry < group.num_entries; ++entry) {
        for (int64_t row = 0; row < group.num_dtypes; ++row)
            counts.backward += runs_backward(group, entry, row) ? 1 : 0;
    }
    counts.backward *= num_ops * group.num_sparse();
    return counts;
}

CaseSelection CaseSelection::for_id(std::string_view id) {
    CaseSelection selection;
    const std::string suite(id.substr(0, id.find('/')));
    if (suite == "ops" || suite.size() == id.size()) return selection;
    selection.ops = false;
    selection.models.push_back(suite);
    return selection;
}

std::vector<std::string> list_models(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::path& path : json_files(fs::path(folder) / "models")) names.push_back(path.stem().string());
    return names;
}

Result<Catalogue> Catalogue::load(const std::string& folder, const CaseSelection& selection) {
    Catalogue catalogue;
    if (selection.ops) {
        const std::vector<fs::path> files = json_files(fs::path(folder) / "ops");
        if (files.empty()) return bad_input(fmt::format("{}/ops holds no case files (*.json)", folder));
        for (const fs::path& path : files) {
            if (Status status = catalogue.add_file(path.string(), "ops"); !status.ok()) return status.error();
        }
    }
    const std::vector<std::string> known = list_models(folder);
    for (const std::string& model : selection.all_models ? known : selection.models) {
        if (std::find(known.begin(), known.end(), model) == known.end()) {
            return bad_input(fmt::format("{}/models has no model '{}'{}", folder, model, did_you_mean(model, known)));
        }
        const std::string path = (fs::path(folder) / "models" / (model + ".json")).string();
        if (Status status = catalogue.add_file(path, model); !status.ok()) return status.error();
    }
    for (const std::string& path : selection.files) {
        if (Status status = catalogue.add_file(path, ""); !status.ok()) return status.error();
    }
    return catalogue;
}

/// `suite` is the suite that the file's folder requires; "" requires none.
Status Catalogue::add_file(const std::string& path, std::string_view suite) {
    Result<std::vector<CaseGroup>> groups = read_case_file(path);
    if (!groups.ok()) return groups.error();
    // The reader has already checked each file by itself.
    std::set<std::pair<std::string_view, std::string_view>> taken;
    for (const CaseGroup& group : groups_) taken.emplace(group.suite, group.name);
    for (const CaseGroup& group : *groups) {
        if (!suite.empty() && group.suite != suite) {
            return bad_input(fmt::format("{}: expected cases of '{}', got those of '{}' (see the key \"model\")", path,
                                         suite, group.suite));
        }
        if (!taken.contains({group.suite, group.name})) continue;
        const auto other = std::find_if(groups_.begin(), groups_.end(), [&](const CaseGroup& candidate) {
            return candidate.suite == group.suite && candidate.name == group.name;
        });
        return bad_input(fmt::format("{}:{}: the group '{}' of '{}' stands in {}:{} already", path, group.line,
                                     group.name, group.suite, other->file, other->line));
    }
    std::move(groups->begin(), groups->end(), std::back_inserter(groups_));
    return {};
}

std::vector<std::string> Catalogue::list_ops() const {
    std::set<std::string> ops;
    for (const CaseGroup& group : groups_) ops.insert(group.ops.begin(), group.ops.end());
    return {ops.begin(), ops.end()};
}

std::vector<std::string> Catalogue::suites() const {
    std::vector<std::string> names;
    for (const CaseGroup& group : groups_) {
        if (std::find(names.begin(), names.end(), group.suite) == names.end()) names.push_back(group.suite);
    }
    return names;
}

Result<std::vector<Case>> Catalogue::cases_of(const NameChoice& ops) const {
    const std::vector<std::string> known = list_ops();
    if (const std::string* item = ops.unmatched(known)) {
        return bad_input(fmt::format("no case has {}'{}'{}", is_glob(*item) ? "an operator like " : "the operator ",
                                     *item, did_you_mean(*item, known)));
    }
    std::vector<Case> cases;
    for (const CaseGroup& group : groups_) std::ranges::move(expand(group, ops), std::back_inserter(cases));
    return cases;
}

std::string Catalogue::place_of(const Case& c) const {
    for (const CaseGroup& group : groups_) {
        if (group.suite == c.suite && group.name == c.group) {
            return fmt::format("{}:{}: {}", group.file, group.line, group.pointer);
        }
    }
    return c.id();
}

Result<Case> Catalogue::find(std::string_view id) const {
    const size_t slash = id.find('/');
    const size_t first = id.find('.', slash == std::string_view::npos ? 0 : slash);
    const size_t last = id.rfind('.');
    int64_t index = -1;
    if (last != std::string_view::npos) {
        const char* end = id.data() + id.size();
        const auto parsed = std::from_chars(id.data() + last + 1, end, index);
        if (parsed.ec != std::errc() || parsed.ptr != end) index = -1;
    }
    if (slash == std::string_view::npos || first == std::string_view::npos || first == last || index < 0) {
        return bad_input(
            fmt::format("'{}' is no id of a case: expected <suite>/<group>.<operator>.<number>, such as "
                        "ops/pointwise_binary.add.17",
                        id));
    }
    const std::string_view suite = id.substr(0, slash);
    const std::string_view name = id.substr(slash + 1, first - slash - 1);
    const std::string op(id.substr(first + 1, last - first - 1));
    std::vector<std::string> names;
    for (const CaseGroup& group : groups_) {
        if (group.suite != suite) continue;
        names.push_back(group.name);
        if (group.name != name) continue;
        if (std::find(group.ops.begin(), group.ops.end(), op) == group.ops.end()) {
            return bad_input(
                fmt::format("no case '{}': the group '{}' has the operators {}", id, name, fmt::join(group.ops, ", ")));
        }
        if (index >= group.cases_per_op()) {
            return bad_input(
                fmt::format("no case '{}': the numbers of '{}' end at {}", id, op, group.cases_per_op() - 1));
        }
        return make_case(group, op, index);
    }
    return bad_input(fmt::format("no case '{}': '{}' has no group '{}'{}", id, suite, name, did_you_mean(name, names)));
}

}  // namespace diopi
