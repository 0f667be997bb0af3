#include "step/duplicates.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/strided.hpp"
#include "infer/infer.hpp"
#include "step/oracle.hpp"

namespace diopi {

namespace {

/// The functions that replace elements, and those that read the same places.
struct Writer {
    ShapeRule rule;
    const char* writes;
    const char* reads;
    const char* values;
};
constexpr Writer kWriters[] = {{ShapeRule::scatter, "diopiScatter", "diopiGather", "src"},
                               {ShapeRule::index_put, "diopiIndexPut", "diopiIndex", "values"}};

Result<TensorPtr> numbered(const Shape& shape) {
    auto made = make_tensor(cpu_device(), {shape, Dtype::int64, {}});
    if (made.ok()) std::iota((*made)->data_as<int64_t>(), (*made)->data_as<int64_t>() + (*made)->numel(), int64_t{0});
    return made;
}

/// Runs a function of the reference with the arguments of a call, of which `changes` replaces some, and returns its
/// first result.
Result<TensorPtr> run_with(const char* function, const Call& call,
                           std::initializer_list<std::pair<std::string_view, TensorPtr>> changes) {
    Call other(*find_row(function));
    for (size_t i = 0; i < other.args.size(); ++i) {
        const Arg& arg = other.row->args()[i];
        const std::string_view name = arg.name == "nums" ? "indices_counts" : arg.name;
        if (!arg.is_output && call.has(name)) other.args[i] = call[name];
        for (const auto& [changed, tensor] : changes) {
            if (arg.name == changed) other.args[i] = tensor;
        }
    }
    auto outputs = infer(other, {});
    if (!outputs.ok()) return outputs.error();
    auto results = Oracle().run(other, *outputs);
    if (!results.ok()) return results.error();
    return results->front().tensor;
}

std::vector<std::byte*> elements_of(const Tensor& tensor) {
    std::vector<std::byte*> elements;
    const auto size = static_cast<int64_t>(size_of(tensor.dtype));
    for_each_offset(tensor.shape, tensor.strides,
                    [&](int64_t offset) { elements.push_back(tensor.data_as<std::byte>() + offset * size); });
    return elements;
}

/// values[at] = values[winners[at]] for each place `at` of winners, which is nowhere larger than values; the numbers in
/// winners count the elements of values.
void exchange(const Tensor& values, const Tensor& winners) {
    const std::vector<std::byte*> elements = elements_of(values);
    const auto* winner = winners.data_as<int64_t>();
    const Shape strides = contiguous_strides(values.shape);
    for_each_offset(winners.shape, strides, [&](int64_t own) {
        const int64_t other = *winner++;
        if (own == other) return;
        std::memcpy(elements[static_cast<size_t>(own)], elements[static_cast<size_t>(other)], size_of(values.dtype));
    });
}

void make_equal(const Tensor& values) {
    const std::vector<std::byte*> elements = elements_of(values);
    for (std::byte* element : elements) std::memmove(element, elements.front(), size_of(values.dtype));
}

}  // namespace

Status agree_on_duplicates(Call& call) {
    const auto* const writer = std::ranges::find(kWriters, call.row->rule, &Writer::rule);
    if (writer == std::end(kWriters) || !copies_only(call) || !call.has(writer->values)) return {};
    const TensorPtr values = std::get<TensorPtr>(call[writer->values]);
    const Tensor& input = *call.tensor("input");
    if (values == nullptr || values->numel() < 2 || input.numel() == 0) return {};
    auto ids = numbered(values->shape), places = numbered(input.shape);
    if (!ids.ok() || !places.ok()) return (ids.ok() ? places : ids).error();
    auto winners = run_with(writer->writes, call, {{"input", *places}, {writer->values, *ids}});
    if (winners.ok()) winners = run_with(writer->reads, call, {{"input", *winners}});
    // The call itself is refused, and tells why.
    if (!winners.ok() || (*winners)->numel() == 0) return {};
    if (call.row->rule == ShapeRule::index_put && (*winners)->shape != values->shape)
        make_equal(*values);
    else
        exchange(*values, **winners);
    return {};
}

}  // namespace diopi
