/// Faults of the steps of a generation: words, penalties, and the choice of the next token.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check/oracle.hpp"
#include "fault.hpp"

namespace diopi::mutation {

namespace {

/// The elements of an argument in float64; none if it is absent.
std::vector<double> numbers_of(const Call& call, std::string_view arg) {
    const Tensor* tensor = call.tensor(arg);
    if (tensor == nullptr) return {};
    const Tensor wide = to_oracle(*tensor, Dtype::float64);
    return {wide.data_as<double>(), wide.data_as<double>() + wide.numel()};
}

void step_behind(Scene& scene) {
    Call changed = scene.call();
    auto& step = std::get<int64_t>(changed["step"]);
    if (step < 1) return;
    --step;
    scene.run_instead(std::move(changed));
}

/// Each further occurrence of a token changes its logit once more.
void penalised_again(Scene& scene) {
    const Call& call = scene.call();
    const Scene::Result* logits = scene.first();
    if (logits == nullptr) return;
    const int64_t batch = call.integer("batch_size"), vocab = call.integer("vocab_size");
    const std::vector<double> tokens = numbers_of(call, "output_ids"), before = values_of(*logits->before);
    std::vector<double> values = values_of(*logits->right);
    std::vector<int> times(values.size());
    for (int64_t at = 0; at < call.integer("step") * batch; ++at) {
        const double token = tokens[static_cast<size_t>(at)];
        if (token < 0 || token >= static_cast<double>(vocab)) continue;
        const auto place = static_cast<size_t>(at % batch * vocab + static_cast<int64_t>(token));
        if (++times[place] == 2) values[place] += values[place] - before[place];
    }
    if (!values.empty()) put_values(values, *logits->tensor);
}

/// The columns behind the vocabulary keep their values.
void padding_unmasked(Scene& scene) {
    const Scene::Result* logits = scene.first();
    if (logits == nullptr) return;
    const int64_t vocab = scene.call().integer("vocab_size"), padded = scene.call().integer("vocab_size_padd");
    std::vector<double> values = values_of(*logits->right);
    const std::vector<double> before = values_of(*logits->before);
    for (size_t at = 0; at < values.size(); ++at) {
        if (static_cast<int64_t>(at) % padded >= vocab) values[at] = before[at];
    }
    put_values(values, *logits->tensor);
}

/// The cumulated probability of the tokens before the one that crosses p; p itself where that is the first one.
double share_before(std::vector<double> logits, double k, double p) {
    std::ranges::sort(logits, std::ranges::greater());
    const double largest = logits.front();
    logits.resize(static_cast<size_t>(std::min(k, static_cast<double>(logits.size()))));
    for (double& x : logits) x = x == largest ? 1 : std::exp(x - largest);
    const double all = std::accumulate(logits.begin(), logits.end(), 0.0);
    double below = 0;
    for (const double x : logits) {
        if (below + x / all >= p) break;
        below += x / all;
    }
    return below > 0 ? below : p;
}

void cut_before(Scene& scene) {
    const Call& call = scene.call();
    const int64_t vocab = call.integer("vocab_size_padded");
    const std::vector<double> logits = numbers_of(call, "logits");
    const std::vector<double> counts =
        call.has("runtime_top_k") ? numbers_of(call, "runtime_top_k") : std::vector<double>();
    std::vector<double> cuts = numbers_of(call, "runtime_top_p");
    if (cuts.empty()) return;
    for (size_t i = 0; i < cuts.size(); ++i) {
        const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i) * vocab;
        cuts[i] = share_before({row, row + vocab}, counts.empty() ? static_cast<double>(vocab) : counts[i], cuts[i]);
    }
    const Tensor* given = call.tensor("runtime_top_p");
    Call changed = scene.with([&](const TensorPtr& tensor, const Arg&) {
        if (tensor.get() != given) return tensor;
        TensorPtr lower = dense_copy(*tensor);
        put_values(cuts, *lower);
        return lower;
    });
    scene.run_instead(std::move(changed));
}

bool has_words(const Row& row) {
    return row.rule == ShapeRule::ban_bad_words || row.rule == ShapeRule::stop_words_criterion;
}
bool penalises(const Row& row) { return row.rule == ShapeRule::repetition_penalty; }
bool pads(const Row& row) { return row.rule == ShapeRule::temperature_penalty; }
bool samples(const Row& row) { return row.rule == ShapeRule::token_sampling; }

constexpr Fault kTokenFaults[] = {
    {"TS", "step_behind", "words are compared with the tokens up to the step before", step_behind, has_words},
    {"TP", "penalised_again", "a token that came several times is penalised twice", penalised_again, penalises},
    {"TM", "padding_unmasked", "logits behind the vocabulary are not lowest", padding_unmasked, pads},
    {"TC", "cut_before", "the cut lies before the token that crosses p", cut_before, samples},
};

}  // namespace

std::span<const Fault> token_faults() { return kTokenFaults; }

}  // namespace diopi::mutation
