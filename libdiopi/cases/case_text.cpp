#include "cases/case_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cases/case_file.hpp"

namespace diopi {

namespace {

/// "(64, 128) float16", for a list "3 x (64, 128) float16".
std::string form_of(const CaseTensor& tensor) {
    if (tensor.absent || (tensor.specs.empty() && !tensor.is_list)) return "absent";
    if (tensor.specs.empty()) return "empty list";
    const TensorSpec& first = tensor.specs.front();
    std::string text = fmt::format("{} {}", to_string(first.shape), name(first.dtype));
    if (tensor.is_list) text = fmt::format("{} x {}", tensor.specs.size(), text);
    if (tensor.no_contiguous || !first.strides.empty()) text += " non-contiguous";
    return tensor.same_as.empty() ? text : text + " same as " + tensor.same_as;
}

const CaseTensor* tensor_named(const Case& c, const std::string& wanted) {
    const auto found = std::ranges::find(c.tensors, wanted, &CaseTensor::name);
    return found == c.tensors.end() ? nullptr : &*found;
}

}  // namespace

std::string forms_of(const Case& c) {
    std::vector<std::string> parts;
    for (const CaseTensor& tensor : c.tensors) parts.push_back(tensor.name + " " + form_of(tensor));
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// "ones", "values" with a few of them.
std::string values_of(const CaseTensor& tensor) {
    if (tensor.fill.fn != Fill::kValue) {
        const char* fill = fill_name(tensor.fill.fn);
        return fill == nullptr ? "captured" : fill;
    }
    constexpr size_t kShown = 12;
    const size_t shown = std::min(kShown, tensor.values.size());
    return fmt::format("[{}{}]",
                       fmt::join(tensor.values.begin(), tensor.values.begin() + static_cast<int64_t>(shown), ", "),
                       shown < tensor.values.size() ? ", ..." : "");
}

std::string describe_change(const Case& before, const Case& after) {
    std::vector<std::string> parts;
    for (const CaseTensor& tensor : before.tensors) {
        const CaseTensor* now = tensor_named(after, tensor.name);
        const std::string was = form_of(tensor), is = now == nullptr ? "absent" : form_of(*now);
        parts.push_back(tensor.name + " " + was + (was == is ? "" : " -> " + is));
    }
    std::vector<std::string> dropped;
    for (const auto& [param, value] : before.params) {
        if (after.param(param) == nullptr) dropped.push_back(param);
    }
    if (!dropped.empty()) parts.push_back(fmt::format("without {}", fmt::join(dropped, ", ")));
    if (before.inplace && !after.inplace) parts.emplace_back("not in place");
    if (before.backward && !after.backward) parts.emplace_back("not backward");
    if (before.layout != LayoutOptions() && after.layout == LayoutOptions())
        parts.emplace_back("without the layout of an option");
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace diopi
