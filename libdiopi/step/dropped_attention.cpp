#include "step/dropped_attention.hpp"

#include <algorithm>
#include <cmath>

#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "core/philox.hpp"

namespace diopi {

namespace {

constexpr uint64_t kSignKey = 0x7369676e73;

/// A sign for each element of a head: the elements of a row drop together, so that only one sum of them is independent
/// of the other rows.
double sign_of(int64_t element) { return (philox(kSignKey, static_cast<uint64_t>(element), 0)[0] & 1) == 0 ? 1 : -1; }

/// The signed sums of the rows, of `dim` elements each.
std::vector<double> row_sums(const Tensor& tensor, int64_t dim) {
    const Tensor wide = to_oracle(tensor, Dtype::float64);
    std::vector<double> sums(static_cast<size_t>(tensor.numel() / dim), 0);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        sums[static_cast<size_t>(i / dim)] += sign_of(i % dim) * wide.data_as<double>()[i];
    }
    return sums;
}

/// How far rounding may move such a sum: a step of the dtype for each element.
std::vector<double> row_roundings(const Tensor& tensor, int64_t dim) {
    const Tensor wide = to_oracle(tensor, Dtype::float64);
    const Format format = format_of(tensor.dtype);
    std::vector<double> steps(static_cast<size_t>(tensor.numel() / dim), 0);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        const double step = ulp_of(wide.data_as<double>()[i], format);
        steps[static_cast<size_t>(i / dim)] += step * step;
    }
    std::ranges::transform(steps, steps.begin(), [](double x) { return std::sqrt(x); });
    return steps;
}

/// Each element of a row becomes the square of the row's signed sum.
TensorPtr squared_sums(const Tensor& values, int64_t dim) {
    const std::vector<double> sums = row_sums(values, dim);
    auto squared = std::make_shared<Tensor>(make_host_tensor(values.shape, Dtype::float64));
    for (int64_t i = 0; i < values.numel(); ++i) {
        const double sum = sums[static_cast<size_t>(i / dim)];
        squared->data_as<double>()[i] = sum * sum;
    }
    return squared;
}

TensorPtr doubled(const Tensor& tensor) {
    const Tensor wide = to_oracle(tensor, Dtype::float64);
    auto made = std::make_shared<Tensor>(make_host_tensor(tensor.shape, Dtype::float64));
    for (int64_t i = 0; i < made->numel(); ++i) made->data_as<double>()[i] = 2 * wide.data_as<double>()[i];
    return made;
}

/// For each row of q, in its order, the place of that row in softmax_lse (batch, heads, rows).
std::vector<int64_t> places_of_rows(const Call& call, const Tensor& lse) {
    const int64_t heads = lse.shape[1], rows = lse.shape[2];
    std::vector<int64_t> places;
    const auto add = [&](int64_t b, int64_t i) {
        for (int64_t head = 0; head < heads; ++head) places.push_back((b * heads + head) * rows + i);
    };
    const Tensor* ends = call.has("cum_seq_q") ? call.tensor("cum_seq_q") : nullptr;
    const Tensor wide = ends == nullptr ? Tensor() : to_oracle(*ends, Dtype::int64);
    for (int64_t b = 0; b < lse.shape[0]; ++b) {
        const auto* end = wide.data_as<int64_t>();
        const int64_t length = ends == nullptr ? rows : end[b + 1] - end[b];
        for (int64_t i = 0; i < length; ++i) add(b, i);
    }
    return places;
}

}  // namespace

Result<DistributionCheck> check_dropped_attention(const Step& step, const Tensor& out) {
    const LawOfRow& law = step.call.row->law;
    const auto at = [](int8_t position) { return static_cast<size_t>(position); };
    Call certain = step.call;
    const double p = std::get<double>(certain.args[at(law.a)]);
    certain.args[at(law.a)] = 0.0;
    const int64_t dim = certain.tensor("q")->shape.back();
    // exp(2 s - 2 lse) = exp(2 s - lse of 2 s) exp(lse of 2 s - 2 lse): the squares of shares are shares of doubled
    // scores.
    Call squares = certain;
    auto& scale = std::get<double>(squares.args[at(law.b)]);
    scale *= 2;
    squares["v"] = squared_sums(*certain.tensor("v"), dim);
    if (squares.has("alibi_slopes") && squares.tensor("alibi_slopes") != nullptr) {
        squares["alibi_slopes"] = doubled(*certain.tensor("alibi_slopes"));
    }
    Oracle oracle;
    const auto means = oracle.run(certain, step.outputs);
    if (!means.ok()) return means.error();
    const auto shares = oracle.run(squares, step.outputs);
    if (!shares.ok()) return shares.error();
    const auto result = [&](const std::vector<ArgTensor>& results, std::string_view name) -> const Tensor& {
        const auto arg = static_cast<size_t>(step.call.row->find(name));
        return *std::ranges::find(results, arg, &ArgTensor::arg)->tensor;
    };
    const std::string_view name = step.call.row->args()[at(law.output)].name;
    const Tensor& lse = result(*means, "softmax_lse");
    const auto *of_scores = lse.data_as<double>(), *of_doubled = result(*shares, "softmax_lse").data_as<double>();
    const auto* sums_of_squares = result(*shares, name).data_as<double>();
    const std::vector<double> came = row_sums(out, dim), mean = row_sums(result(*means, name), dim);
    const std::vector<double> rounding = row_roundings(out, dim);
    const std::vector<int64_t> places = places_of_rows(step.call, lse);
    std::vector<DroppedSum> rows;
    for (size_t r = 0; r < places.size(); ++r) {
        const auto place = places[r];
        // A row without keys has nothing to drop.
        const bool is_empty = of_scores[place] == -HUGE_VAL;
        const double all = is_empty ? 0 : std::exp(of_doubled[place] - 2 * of_scores[place]);
        const double variance = p / (1 - p) * all * sums_of_squares[static_cast<int64_t>(r) * dim];
        rows.push_back({came[r], mean[r], variance, rounding[r]});
    }
    return check_dropped_sums(rows, p);
}

}  // namespace diopi
