/// Faults that lose precision.
#include <algorithm>
#include <cmath>

#include "core/convert.hpp"
#include "fault.hpp"
#include "step/oracle.hpp"

namespace diopi::mutation {

namespace {

constexpr double kHalfRoundoff = 0x1p-11;

/// The call with its tensors before any change, and its described results.
struct Question {
    Call call;
    std::vector<OutputSpec> outputs;
};

Question question_of(const Scene& scene) {
    Question question{scene.call(), {}};
    for (size_t i = 0; i < question.call.args.size(); ++i) {
        const Arg& arg = question.call.row->args()[i];
        for (const Scene::Result& result : scene.results()) {
            if (result.place.arg != i) continue;
            const Tensor& tensor = *result.tensor;
            if (arg.is_output) {
                question.outputs.push_back({i, {tensor.shape, tensor.dtype, {}}, true, result.place.position});
            } else {
                question.call.set_tensor(result.place, result.before);
            }
        }
    }
    return question;
}

const Scene::Result* result_at(const Scene& scene, ArgPlace place) {
    const auto found = std::ranges::find(scene.results(), place, &Scene::Result::place);
    return found == scene.results().end() ? nullptr : &*found;
}

/// The next number towards zero, for one that was rounded away from zero.
std::vector<double> truncated(const double* exact, const Scene::Result& result) {
    std::vector<double> values = values_of(*result.right);
    const double ulp = std::ldexp(1, 1 - significand_bits(result.tensor->dtype));
    for (size_t i = 0; i < values.size(); ++i) {
        double& value = values[i];
        if (!std::isfinite(value) || !std::isfinite(exact[i]) || std::fabs(value) <= std::fabs(exact[i])) continue;
        if (value * exact[i] <= 0) continue;
        int exponent = 0;
        const double fraction = std::frexp(value, &exponent);
        // Below a power of two numbers are twice as dense.
        const double step = std::fabs(fraction) == 0.5 ? ulp / 2 : ulp;
        value -= std::copysign(std::ldexp(step, exponent - 1), value);
    }
    return values;
}

void truncation(Scene& scene) {
    const Question question = question_of(scene);
    auto expected = Oracle().run(question.call, question.outputs);
    if (!expected.ok()) return;
    for (const ArgTensor& exact : *expected) {
        const Scene::Result* result = result_at(scene, exact.place());
        const bool known = result != nullptr && is_floating(result->tensor->dtype) &&
                           result->tensor->dtype != Dtype::float64 && exact.tensor->dtype == Dtype::float64;
        if (known) put_values(truncated(exact.tensor->data_as<double>(), *result), *result->tensor);
    }
}

/// Every result has an error of u of float16 times the sum of its terms' magnitudes, up or down without a short period.
void half_accumulation(Scene& scene) {
    const Question question = question_of(scene);
    for (const OutputSpec& output : question.outputs) {
        const Scene::Result* result = result_at(scene, output.place());
        if (result == nullptr || !is_floating(output.spec.dtype)) continue;
        if (accumulation_length(question.call, output) < 2) continue;
        auto sums = Oracle().magnitude(question.call, output, Oracle::Terms::kAll);
        if (!sums.ok()) continue;
        const auto* s = (*sums)->data_as<double>();
        std::vector<double> values = values_of(*result->right);
        for (size_t i = 0; i < values.size(); ++i) {
            const bool up = (i * 0x9e3779b97f4a7c15ull >> 63) != 0;
            values[i] += (up ? 1 : -1) * kHalfRoundoff * s[i];
        }
        put_values(values, *result->tensor);
    }
}

/// Operands are rounded to float16 before they are used.
void half_operands(Scene& scene) {
    scene.run_instead(scene.with([](const TensorPtr& tensor, const Arg& arg) {
        const bool more = tensor->dtype == Dtype::float32 || tensor->dtype == Dtype::float64;
        if (arg.is_output || arg.is_inout || !more || tensor->numel() == 0) return tensor;
        auto half = make_tensor(cpu_device(), {tensor->shape, Dtype::float16, {}});
        if (!half.ok()) return tensor;
        put_values(values_of(*tensor), **half);
        TensorPtr rounded = dense_copy(*tensor);
        put_values(values_of(**half), *rounded);
        return rounded;
    }));
}

bool sums(const Row& row) { return row.accuracy == AccuracyClass::D; }

constexpr Fault kRoundingFaults[] = {
    {"RT", "truncation", "results are rounded towards zero", truncation, has_right_values},
    {"RA", "half_accumulation", "sums have the error of a float16 accumulator", half_accumulation, sums},
    {"RO", "half_operands", "operands are rounded to float16 first", half_operands, has_right_values},
};

}  // namespace

std::span<const Fault> rounding_faults() { return kRoundingFaults; }

}  // namespace diopi::mutation
