/// The gradient of each function is its derivative: along a random direction, against a central difference in float64.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "cases/catalogue.hpp"
#include "core/philox.hpp"
#include "hard/hard_cases.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

constexpr int64_t kMostElements = 1 << 16;
/// Cases of a function that are compared, and the number of those that are looked at, evenly spread.
constexpr int kCompared = 4;
constexpr size_t kLookedAt = 60;
/// The step of the difference: numbers are near 1, and a kink within it is improbable.
constexpr double kStep = 1e-6;
constexpr uint64_t kDirection = 77;

/// The case in float64, if it has a gradient and is small.
std::optional<Case> in_float64(Case c) {
    int64_t elements = 0;
    for (CaseTensor& tensor : c.tensors) {
        for (TensorSpec& spec : tensor.specs) {
            if (is_complex(spec.dtype)) return {};
            if (is_floating(spec.dtype)) spec.dtype = Dtype::float64;
            elements += numel(spec.shape);
        }
    }
    if (!c.backward || elements == 0 || elements > kMostElements) return {};
    return c;
}

double dot(const Tensor& a, const Tensor& b) {
    return std::inner_product(a.data_as<double>(), a.data_as<double>() + a.numel(), b.data_as<double>(), 0.0);
}

double dot_of_magnitudes(const Tensor& a, const Tensor& b) {
    const auto product = [](double x, double y) { return std::fabs(x * y); };
    return std::inner_product(a.data_as<double>(), a.data_as<double>() + a.numel(), b.data_as<double>(), 0.0,
                              std::plus<>(), product);
}

/// Numbers from -1 to 1.
TensorPtr direction_like(const Tensor& tensor, uint64_t stream) {
    auto made = std::make_shared<Tensor>(make_host_tensor(tensor.shape, Dtype::float64));
    for (int64_t i = 0; i < made->numel(); ++i) {
        const auto word = philox(kDirection, static_cast<uint64_t>(i), stream)[0];
        made->data_as<double>()[i] = static_cast<double>(word) * 0x1p-31 - 1;
    }
    return made;
}

/// Makes the direction one in which the function may be asked: cholesky reads one half of a symmetric matrix, and the
/// gradient of ctc_loss is that of logarithms of probabilities that add up to 1. Source: torch.linalg.cholesky_ex and
/// aten/src/ATen/native/LossCTC.cpp of PyTorch.
void make_legal(const Row& function, const Tensor& x, Tensor& direction) {
    auto* d = direction.data_as<double>();
    const bool is_symmetric = function.op == "cholesky_ex", is_probability = function.op == "ctc_loss";
    if (!is_symmetric && !is_probability) return;
    const int64_t n = x.shape.back();
    for (int64_t row = 0; row < x.numel() / n; ++row) {
        const int64_t first = row / n * n * n, i = row % n;
        for (int64_t j = 0; is_symmetric && j < i; ++j) d[first + i * n + j] = d[first + j * n + i];
        double moved = 0, all = 0;
        for (int64_t j = 0; is_probability && j < n; ++j) {
            const double probability = std::exp(x.data_as<double>()[row * n + j]);
            moved += probability * d[row * n + j], all += probability;
        }
        for (int64_t j = 0; is_probability && j < n; ++j) d[row * n + j] -= moved / all;
    }
}

TensorPtr moved(const Tensor& from, const Tensor& direction, double step) {
    auto made = std::make_shared<Tensor>(make_host_tensor(from.shape, Dtype::float64));
    for (int64_t i = 0; i < made->numel(); ++i) {
        made->data_as<double>()[i] = from.data_as<double>()[i] + step * direction.data_as<double>()[i];
    }
    return made;
}

/// The function whose gradients a backward step has, as one number: the sum of its outputs, weighted by the gradients
/// that come in.
class WeightedOutputs {
 public:
    /// Nothing for a function that cannot be called by the reference, or has no gradient that comes in.
    static std::optional<WeightedOutputs> of(const Case& c, const CaseSteps& steps, const Step& backward) {
        const auto rows = rows_for(c);
        if (!rows.ok() || rows->saving == nullptr) return {};
        auto call = bind_call(*rows->saving, c, steps.tensors());
        if (!call.ok()) return {};
        auto outputs = infer(*call, hints_of(c));
        const auto incoming = incoming_gradients(*rows->backward, *rows->saving, c);
        if (!outputs.ok() || !incoming.ok()) return {};
        WeightedOutputs made{std::move(*call), std::move(*outputs), {}};
        for (const IncomingGradient& gradient : *incoming) {
            const TensorPtr weights = backward.call.tensor_at(ArgPlace(gradient.arg));
            if (weights != nullptr) made.weights_[gradient.output] = weights;
        }
        return made.weights_.empty() ? std::nullopt : std::optional(std::move(made));
    }

    [[nodiscard]] const Call& call() const { return call_; }

    struct Value {
        double sum = 0, magnitude = 0;
    };
    /// With other inputs at some places, and a generator that begins as that of the case does.
    [[nodiscard]] std::optional<Value> at(const std::map<size_t, TensorPtr>& inputs, Generator generator) const {
        Call call = call_;
        for (const auto& [arg, tensor] : inputs) call.args[arg] = tensor;
        for (size_t i = 0; i < call.args.size(); ++i) {
            if (call.row->args()[i].kind == ArgKind::generator) call.args[i] = &generator;
        }
        const auto results = Oracle().run(call, outputs_);
        if (!results.ok()) return {};
        Value value;
        for (const ArgTensor& result : *results) {
            const auto found = weights_.find(result.arg);
            if (found == weights_.end()) continue;
            value.sum += dot(*result.tensor, *found->second);
            value.magnitude += dot_of_magnitudes(*result.tensor, *found->second);
        }
        return value;
    }

 private:
    WeightedOutputs(Call call, std::vector<OutputSpec> outputs, std::map<size_t, TensorPtr> weights)
        : call_(std::move(call)), outputs_(std::move(outputs)), weights_(std::move(weights)) {}

    Call call_;
    std::vector<OutputSpec> outputs_;
    std::map<size_t, TensorPtr> weights_;  ///< by output
};

/// The position of the input whose gradient this argument of the backward function is; -1 where it is none.
int input_of(const Arg& gradient, const Row& forward) {
    for (size_t i = 0; i < forward.args().size(); ++i) {
        const Arg& input = forward.args()[i];
        const bool is_its = gradient.answers_to("grad_" + std::string(input.name)) ||
                            (!input.alias.empty() && gradient.answers_to("grad_" + std::string(input.alias)));
        if (is_its) return static_cast<int>(i);
    }
    return -1;
}

/// Compares the gradients of a case with the difference along a direction; whether there was something to compare.
bool compare_gradients(const Case& c) {
    CaseOptions options;
    options.backend = &reference_backend();
    const auto steps = steps_of(c, options);
    if (!steps.ok()) return false;
    const auto backward = (*steps)->plan("backward");
    if (!backward.ok()) return false;
    const auto gradients = (*steps)->expected(*backward);
    const auto function = WeightedOutputs::of(c, **steps, *backward);
    if (!gradients.ok() || !function) return false;
    std::map<size_t, TensorPtr> ahead, behind;
    double analytic = 0, size = 0;
    for (const ArgTensor& gradient : *gradients) {
        const int input = input_of(backward->call.row->args()[gradient.arg], *function->call().row);
        if (input < 0 || gradient.tensor->dtype != Dtype::float64) continue;
        const auto at = static_cast<size_t>(input);
        const TensorPtr x = function->call().tensor_at(ArgPlace(at));
        const TensorPtr direction = direction_like(*x, at);
        make_legal(*function->call().row, *x, *direction);
        ahead[at] = moved(*x, *direction, kStep), behind[at] = moved(*x, *direction, -kStep);
        analytic += dot(*gradient.tensor, *direction);
        size += dot_of_magnitudes(*gradient.tensor, *direction);
    }
    const Generator generator{c.key(0), 0};
    const auto above = function->at(ahead, generator), below = function->at(behind, generator);
    if (size == 0 || !std::isfinite(size) || !above || !below) return false;
    const double numeric = (above->sum - below->sum) / (2 * kStep);
    const double roundings = 16 * 0x1p-53 * (above->magnitude + below->magnitude) / kStep;
    INFO(c.id() << ": " << analytic << " by the gradients, " << numeric << " by a difference");
    CHECK(std::fabs(analytic - numeric) <= 1e-6 * size + roundings);
    return true;
}

/// The cases of an operator that may be compared, the standard's first.
std::vector<Case> gradient_cases(const Catalogue& catalogue, const std::string& op) {
    std::vector<Case> all;
    const auto add = [&](const std::vector<Case>& cases) {
        const size_t every = std::max<size_t>(cases.size() / kLookedAt, 1);
        for (size_t i = 0; i < cases.size(); i += every) {
            if (auto c = in_float64(cases[i])) all.push_back(std::move(*c));
        }
    };
    if (const auto cases = catalogue.cases_of(NameChoice(op)); cases.ok()) add(*cases);
    add(plain_cases(op));
    return all;
}

}  // namespace

TEST_CASE("the gradients of each function are its derivatives", "[reference][gradient]") {
    const auto catalogue = Catalogue::load(DIOPI_SOURCE_DIR "/cases");
    REQUIRE(catalogue.ok());
    std::map<std::string, int> compared;  // by backward function
    for (const std::string& op : catalogue->list_ops()) {
        for (const Case& c : gradient_cases(*catalogue, op)) {
            const auto rows = rows_for(c);
            if (!rows.ok() || rows->backward == nullptr || rows->backward->rule == ShapeRule::unknown) continue;
            int& count = compared[std::string(rows->backward->function)];
            if (count < kCompared && compare_gradients(c)) ++count;
        }
    }
    for (const auto& [function, count] : compared) {
        INFO(function);
        CHECK(count > 0);
    }
}

}  // namespace diopi
