#include "intercept/tensor_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "check/oracle.hpp"
#include "runtime/generator.hpp"

namespace diopi {

namespace {

/// The name of a dtype in the standard's own output format.
std::string_view framework_name(Dtype dtype) {
    switch (dtype) {
        case Dtype::float32:
            return "float";
        case Dtype::float64:
            return "double";
        case Dtype::float16:
            return "c10::Half";
        case Dtype::bfloat16:
            return "c10::BFloat16";
        case Dtype::int64:
            return "long";
        case Dtype::int32:
            return "int";
        case Dtype::int16:
            return "short";
        case Dtype::int8:
            return "signed char";
        case Dtype::uint8:
            return "unsigned char";
        case Dtype::complex64:
            return "c10::complex<float>";
        case Dtype::complex128:
            return "c10::complex<double>";
        default:
            return name(dtype);
    }
}

struct ArgumentWriter {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(const TensorPtr& tensor) const { return tensor == nullptr ? "none" : short_text(*tensor); }
    std::string operator()(const TensorList& list) const {
        std::vector<std::string> texts;
        for (const TensorPtr& tensor : list) texts.push_back((*this)(tensor));
        return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    std::string operator()(const Scalar& number) const {
        return is_floating(number.dtype) ? fmt::format("{}", number.real) : fmt::format("{}", number.integer);
    }
    std::string operator()(const IntList& list) const { return fmt::format("[{}]", fmt::join(list, ", ")); }
    std::string operator()(const std::string& text) const { return "'" + text + "'"; }
    std::string operator()(const diopiGeneratorHandle_t& generator) const {
        return generator == nullptr ? "none" : fmt::format("generator({}, {})", generator->seed, generator->offset);
    }
    std::string operator()(const GeneratorList& list) const {
        std::vector<std::string> texts;
        for (const diopiGeneratorHandle_t& generator : list) texts.push_back((*this)(generator));
        return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    template <class Number>
    std::string operator()(Number number) const {
        return fmt::format("{}", number);
    }
};

}  // namespace

std::string seed_text(const Tensor& tensor) {
    const bool is_view = tensor.storage.nbytes != tensor.nbytes();
    return fmt::format("numel:{}, sizes:[{}], stride:[{}], is_view:{}, TensorOptions(dtype={}, device={}), data_ptr:{}",
                       tensor.numel(), fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "), is_view ? 1 : 0,
                       framework_name(tensor.dtype), tensor.storage.device == diopi_host ? "cpu" : "device",
                       static_cast<const void*>(tensor.data()));
}

std::string short_text(const Tensor& tensor) {
    return fmt::format("{}[{}]", name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

std::string argument_text(const Value& value) { return std::visit(ArgumentWriter(), value); }

std::string values_text(const Tensor& host, int64_t most) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < std::min(host.numel(), most); ++i) texts.push_back(print_element(host, i));
    return fmt::format("[{}{}]", fmt::join(texts, ", "), host.numel() > most ? ", ..." : "");
}

}  // namespace diopi
