#include "cases/case.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace diopi {

namespace {

/// FNV-1a, 64 bits: stable across machines and versions, unlike std::hash.
uint64_t fnv1a(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

/// The finaliser of SplitMix64: every input bit reaches every output bit.
uint64_t mix_bits(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

std::string BadCall::text() const {
    switch (change) {
        case Change::kNull:
            return arg + " is null";
        case Change::kLonger:
            return "the last dim of " + arg + " is one longer";
        case Change::kDtype:
            return fmt::format("{} is {}", arg, name(dtype));
        case Change::kEmpty:
            return arg + " is empty";
        case Change::kPower:
            return arg + " is -1, of int32";
        case Change::kIndex:
            return fmt::format("{}[0] is {}", arg, number);
        case Change::kNumber:
            break;
    }
    return fmt::format("{} is {}", arg, number);
}

std::string Case::id() const {
    if (suite == kBadSuite || recorded != nullptr) return fmt::format("{}/{}.{}", suite, op, index);
    const bool is_hard = suite == kHardSuite;
    return suite + "/" + (is_hard ? op : group) + "." + (is_hard ? group : op) + "." + std::to_string(index);
}

uint64_t Case::key(uint64_t seed) const { return mix_bits(fnv1a(id()) + mix_bits(seed + 0x9e3779b97f4a7c15u)); }

bool Case::uses(Dtype wanted) const {
    return std::any_of(tensors.begin(), tensors.end(), [&](const CaseTensor& tensor) {
        return !tensor.absent && std::any_of(tensor.specs.begin(), tensor.specs.end(),
                                             [&](const TensorSpec& spec) { return spec.dtype == wanted; });
    });
}

Dtype Case::dtype() const {
    for (const CaseTensor& tensor : tensors) {
        if (!tensor.absent && !tensor.specs.empty()) return tensor.specs.front().dtype;
    }
    return Dtype::float32;
}

const Param* Case::param(std::string_view name) const {
    for (const auto& [key, value] : params) {
        if (key == name) return &value;
    }
    return nullptr;
}

const std::string* Case::skip_reason(std::string_view step) const {
    const auto found = std::ranges::find(skipped_steps, step, &StepSkip::step);
    return found == skipped_steps.end() ? nullptr : &found->reason;
}

namespace {

std::string text_of(const Param& param) {
    if (const auto* flag = std::get_if<bool>(&param.value)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<int64_t>(&param.value)) return fmt::format("{}", *whole);
    if (const auto* real = std::get_if<double>(&param.value)) return fmt::format("{:a}", *real);
    if (const auto* text = std::get_if<std::string>(&param.value)) return fmt::format("'{}'", *text);
    if (const auto* list = std::get_if<std::vector<Param>>(&param.value)) {
        std::string out = "[";
        for (const Param& item : *list) out += text_of(item) + ",";
        return out + "]";
    }
    return "null";
}

std::string text_of(const CaseTensor& tensor) {
    std::string out =
        fmt::format("{}<{} {}{}{}{}{} {} {:a} {:a} {:a} [", tensor.name, tensor.list, tensor.absent, tensor.is_list,
                    tensor.requires_grad, tensor.no_contiguous, tensor.sparse_csr, static_cast<int>(tensor.fill.fn),
                    tensor.fill.low, tensor.fill.high, tensor.fill.density);
    for (const TensorSpec& spec : tensor.specs) {
        out += fmt::format("{}({})({})", name(spec.dtype), fmt::join(spec.shape, ","), fmt::join(spec.strides, ","));
    }
    for (const double value : tensor.values) out += fmt::format(" {:a}", value);
    if (tensor.captured != nullptr) out += fmt::format(" captured {}", static_cast<const void*>(tensor.captured.get()));
    if (!tensor.same_as.empty()) out += " same as " + tensor.same_as;
    return out + "]>";
}

}  // namespace

std::string Case::fingerprint() const {
    std::string out = fmt::format("{} {}{}{}", id(), inplace, backward, random);
    for (const CaseTensor& tensor : tensors) out += text_of(tensor);
    for (const auto& [name, param] : params) out += fmt::format(" {}={}", name, text_of(param));
    for (const auto& [name, param] : other_params) out += fmt::format(" else {}={}", name, text_of(param));
    for (const auto& [name, output] : saved) out += fmt::format(" {}<-{}", name, output);
    if (!grad_outputs.empty()) out += fmt::format(" gradients of ({})", fmt::join(grad_outputs, ","));
    if (grad_fill != kOnesFill) {
        out += fmt::format(" gradients {} {:a} {:a}", static_cast<int>(grad_fill.fn), grad_fill.low, grad_fill.high);
    }
    if (grad_repeats != Repeats::kNone) out += fmt::format(" gradients repeat {}", static_cast<int>(grad_repeats));
    if (four_bytes) out += " four_bytes";
    if (layout.strided || layout.wide) out += fmt::format(" strided={} wide={}", layout.strided, layout.wide);
    if (layout.host) out += " host";
    if (layout.unaligned) out += " unaligned";
    if (layout.results) out += " results";
    if (layout.nhwc) out += fmt::format(" nhwc={}", layout.nhwc_min_dim);
    return out;
}

}  // namespace diopi
