#include "infer/work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "call/tensors.hpp"
#include "infer/attention_flash.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace {

double count(const Tensor* tensor) { return tensor == nullptr ? 0 : static_cast<double>(tensor->numel()); }
double count(const Call& call, std::string_view arg) { return call.has(arg) ? count(call.tensor(arg)) : 0; }

/// Operations of sums: a multiplication and an addition for each term of each element.
double sums(double elements, double terms) { return 2 * elements * terms; }

int64_t last_size(const Tensor& tensor) { return tensor.rank() == 0 ? 1 : tensor.shape.back(); }

}  // namespace

namespace work_formulas {

using Formula = double(const Call&);

#define DIOPI_WORK(name) Formula name;
#include "schema/work_formulas.inc"
#undef DIOPI_WORK

double elements(const Call& call) {
    double most = 0;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) { most = std::max(most, count(tensor.get())); });
    return most;
}

/// Counts the elements of optimisers with many parameters.
double listed_elements(const Call& call) {
    double most = 0;
    for (const Value& value : call.args) {
        const auto* list = std::get_if<TensorList>(&value);
        if (list == nullptr) continue;
        most = std::max(most, std::accumulate(list->begin(), list->end(), 0.0, [](double sum, const TensorPtr& tensor) {
                            return sum + count(tensor.get());
                        }));
    }
    return most;
}

/// An added input counts as one more term.
double product(const Call& call) {
    const bool adds = call.row->rule == ShapeRule::add_product;
    const double out = count(call, call.has("out") ? "out" : "input");
    return sums(out, static_cast<double>(last_size(infer_rules::factors_of(call).left))) + (adds ? 2 * out : 0);
}

double product_gradients(const Call& call) {
    const double one = sums(count(call, "grad_out"), static_cast<double>(last_size(*call.tensor("input"))));
    return one * ((call.tensor("grad_input") != nullptr ? 1 : 0) + (call.tensor("grad_other") != nullptr ? 1 : 0));
}

double reduced_product(const Call& call) {
    const double out = count(call, "out");
    return sums(out, static_cast<double>(last_size(*call.tensor("x1")))) + (call.tensor("bias") != nullptr ? out : 0);
}

/// The gate counts five operations, as silu times a number does.
double gated_products(const Call& call) {
    const double tokens = static_cast<double>(call.tensor("inoutput")->shape[0]);
    const Tensor& weight = *call.tensor("weight1");
    return tokens * (3 * sums(count(&weight), 1) + 5 * static_cast<double>(last_size(weight)));
}

/// Counts linear layers and convolutions.
double weighted_sums(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    const double out = count(call, "out");
    const double terms = count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1));
    return sums(out, terms) + (call.tensor("bias") != nullptr ? out : 0);
}

/// The gradients of input and weight take as many operations as the forward call, each.
double weighted_sum_gradients(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    const double out = count(call, "grad_output");
    const double one = sums(out, count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1)));
    return one * ((call.tensor("grad_input") != nullptr ? 1 : 0) + (call.tensor("grad_weight") != nullptr ? 1 : 0)) +
           (call.tensor("grad_bias") != nullptr ? out : 0);
}

/// Counts transposed convolutions.
double spread_sums(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    return sums(count(call, "input"), count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1)));
}

/// The gradients of input and weight take as many operations as the forward call, each.
double spread_sum_gradients(const Call& call) {
    const double one = spread_sums(call);
    return one * ((call.tensor("grad_input") != nullptr ? 1 : 0) + (call.tensor("grad_weight") != nullptr ? 1 : 0)) +
           (call.tensor("grad_bias") != nullptr ? count(call, "grad_output") : 0);
}

double windows(const Call& call) {
    const IntList* kernel = call.ints("kernel_size");
    if (kernel == nullptr || kernel->empty()) return count(call, "out");
    double area = 1;
    for (const int64_t size : *kernel) area *= static_cast<double>(size);
    if (kernel->size() == 1) area = std::pow(area, call.row->spatial_dims);
    return count(call, "out") * area;
}

double distances(const Call& call) {
    const double pairs = count(call, call.has("out") ? "out" : "grad_output");
    return pairs * static_cast<double>(last_size(*call.tensor("input1")));
}

/// Source: the operations of Cholesky's decomposition, n^3 / 3, of which others are multiples.
double factors(const Call& call) {
    const Tensor& matrix = *call.tensor(call.has("mat") ? "mat" : call.has("A") ? "A" : "L");
    const int64_t rows = matrix.rank() < 2 ? 1 : matrix.shape[matrix.shape.size() - 2];
    return count(&matrix) * static_cast<double>(std::min(rows, last_size(matrix))) / 3;
}

double systems(const Call& call) {
    return count(call, call.has("out") ? "out" : "x") * static_cast<double>(last_size(*call.tensor("mat")));
}

double token_scores(const Call& call) {
    const bool makes_scores = call.has("token_attention_out");
    return sums(count(call, makes_scores ? "token_attention_out" : "logics"),
                static_cast<double>(last_size(*call.tensor(makes_scores ? "k" : "v"))));
}

/// Of sequences whose lengths only a tensor holds, max_input_len stands for each.
double attended_pairs(const Call& call) {
    const auto longest = static_cast<double>(call.has("max_input_len") ? call.integer("max_input_len") : 1);
    const IntList* lengths = call.has("actual_seq_lengths") ? call.ints("actual_seq_lengths") : nullptr;
    if (lengths == nullptr) return 2 * sums(count(call, "q"), (longest + 1) / 2);
    const bool is_prompt = call.has("max_input_len");
    double pairs = 0;
    for (const int64_t length : *lengths) {
        pairs += static_cast<double>(length) * (is_prompt ? static_cast<double>(length) : 1);
    }
    return 2 * sums(pairs, static_cast<double>(call.integer("num_heads")) * static_cast<double>(call.integer("dim")));
}

/// The lengths of a generation are in a tensor: its steps stand for each.
double fused_attention(const Call& call) {
    const auto keys = static_cast<double>(call.integer(call.has("max_kv_len") ? "max_kv_len" : "step"));
    const double tokens = static_cast<double>(call.tensor("inoutput")->shape[0]);
    return tokens * sums(count(call, "qkv_weight"), 1) + 2 * sums(count(call, "inoutput"), keys);
}

double attended(const Call& call) {
    const auto sizes = AttentionSizes::of(call);
    return sizes.ok() ? sizes->pairs * static_cast<double>(sizes->heads * sizes->dim) : 0;
}

}  // namespace work_formulas

namespace {

/// In the order of WorkFormula; null: unknown.
constexpr work_formulas::Formula* kFormulas[] = {
    nullptr,
#define DIOPI_WORK(name) &work_formulas::name,
#include "schema/work_formulas.inc"
#undef DIOPI_WORK
};

/// Whether the function reads any element of a tensor.
bool is_read(const Call& call, const Arg& arg) {
    if (arg.reading == Reading::nothing || arg.reading == Reading::replaced) return false;
    if (arg.reading != Reading::for_output) return true;
    return call.tensor(call.row->args()[static_cast<size_t>(arg.reading_of)].name) != nullptr;
}

/// Bytes of the distinct elements: a dim of stride 0 repeats them.
double distinct_bytes(const Tensor& tensor) {
    double elements = 1;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const bool repeats = tensor.strides.size() == tensor.shape.size() && tensor.strides[d] == 0;
        if (!repeats || tensor.shape[d] == 0) elements *= static_cast<double>(tensor.shape[d]);
    }
    return elements * static_cast<double>(size_of(tensor.dtype));
}

/// The number of elements in one triangle, diagonal included, of the last two dims of a tensor.
double triangle_of(const Tensor& tensor, bool upper, int64_t diagonal) {
    const int64_t rows = tensor.rank() < 2 ? 0 : tensor.shape[tensor.shape.size() - 2], columns = last_size(tensor);
    double kept = 0;
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t edge = std::clamp(row + std::clamp(diagonal, -rows, columns), int64_t{-1}, columns);
        kept += static_cast<double>(upper ? columns - std::max<int64_t>(edge, 0) : std::min(edge + 1, columns));
    }
    return rows == 0 || columns == 0 ? 0 : kept * count(&tensor) / static_cast<double>(rows * columns);
}

/// The number of elements that must be read or written, if these are not all: a lookup reads one per target or a row
/// per index, a triangle only its own elements.
std::optional<double> elements_touched(const Call& call, const Arg& arg, const Tensor& tensor) {
    if (arg.reading_of < 0) return std::nullopt;
    const std::string_view of = call.row->args()[static_cast<size_t>(arg.reading_of)].name;
    switch (arg.reading) {
        case Reading::all:
        case Reading::nothing:
        case Reading::for_output:
            return std::nullopt;
        case Reading::part:
        case Reading::replaced:
            return std::min(count(call, of), count(&tensor));
        case Reading::upper:
        case Reading::lower:
            return triangle_of(tensor, arg.reading == Reading::upper, call.integer(of));
    }
    return std::nullopt;
}

double bytes_of(const Call& call) {
    double bytes = 0;
    std::set<const void*> read;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& operand) {
        const Arg& arg = place.arg;
        const Tensor& tensor = *operand;
        const std::optional<double> part = elements_touched(call, arg, tensor);
        const double own = part ? *part * static_cast<double>(size_of(tensor.dtype)) : distinct_bytes(tensor);
        const bool writes = place.is_written() && !arg.unwritten;
        const bool is_new = tensor.data() == nullptr || read.insert(tensor.data()).second;
        const bool reads = place.is_read() && is_new && is_read(call, arg);
        bytes += own * ((writes ? 1 : 0) + (reads ? 1 : 0));
    });
    return bytes;
}

}  // namespace

CallWork work_of(const Call& call) {
    const WorkOfRow& work = call.row->work;
    if (work.formula == WorkFormula::unknown) return {};
    const double flops =
        work.operations == 0 ? 0 : work.operations * kFormulas[static_cast<size_t>(work.formula)](call);
    return {flops, bytes_of(call)};
}

}  // namespace diopi
