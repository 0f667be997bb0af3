/// Faults that draw random numbers of another law, or from another state.
#include <cmath>
#include <vector>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

/// The numbers of other generator states; the caller's states go on as they should.
void draw_from(Scene& scene, uint64_t seed) {
    const std::vector<Generator*> states = scene.generators();
    if (states.empty()) return;
    std::vector<Generator> after, others;
    for (const Generator* state : states) {
        after.push_back(*state);
        others.push_back({seed + others.size(), 0});
    }
    Call changed = scene.call();
    size_t next = 0;
    for (Value& value : changed.args) {
        for_each_generator(value, [&](diopiGeneratorHandle_t& handle) { handle = &others[next++]; });
    }
    scene.run_instead(std::move(changed));
    for (size_t i = 0; i < states.size(); ++i) *states[i] = after[i];
}

void seed_ignored(Scene& scene) { draw_from(scene, 1); }
void not_repeatable(Scene& scene) { draw_from(scene, static_cast<uint64_t>(scene.serial())); }

void state_kept(Scene& scene) {
    if (scene.generators().empty() || scene.first() == nullptr) return;
    for (Generator* state : scene.generators()) state->offset = 0;
    scene.act();
}

struct Normal {
    double mean, std;
};

Normal law_of(const Call& call) { return {std::get<double>(call["mean"]), std::get<double>(call["std"])}; }

template <class Change>
void change_numbers(Scene& scene, Change change) {
    const Normal law = law_of(scene.call());
    for (const Scene::Result& result : scene.results()) {
        std::vector<double> values = values_of(*result.right);
        for (double& value : values) value = change(value, law);
        if (!values.empty()) put_values(values, *result.tensor);
    }
}

void std_scaled(Scene& scene) {
    change_numbers(scene, [](double x, Normal law) { return law.mean + 1.1 * (x - law.mean); });
}

void mean_shifted(Scene& scene) {
    change_numbers(scene, [](double x, Normal law) { return x + 0.1 * law.std; });
}

/// Uniform numbers of the same mean and standard deviation.
void uniform(Scene& scene) {
    change_numbers(scene, [](double x, Normal law) {
        if (law.std == 0) return x;
        const double share = 0.5 * std::erfc(-(x - law.mean) / law.std / std::sqrt(2.0));
        return law.mean + law.std * std::sqrt(12.0) * (share - 0.5);
    });
}

void half_repeated(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr) return;
    std::vector<double> values = values_of(*result->right);
    const size_t half = values.size() / 2;
    for (size_t i = 0; i < half; ++i) values[half + i] = values[i];
    if (half > 0) put_values(values, *result->tensor);
}

bool is_random(const Row& row) { return row.accuracy == AccuracyClass::F; }

/// Whether one mean and one standard deviation hold for all numbers.
bool is_normal(const Row& row) {
    const auto is_number = [&](int8_t at) { return row.args()[static_cast<size_t>(at)].kind == ArgKind::float64; };
    return row.law.law == Law::kNormal && row.law.output >= 0 && is_number(row.law.a) && is_number(row.law.b);
}

constexpr Fault kRandomFaults[] = {
    {"NS", "seed_ignored", "the same numbers for every seed of the generator", seed_ignored, is_random},
    {"NO", "state_kept", "the generator's state does not advance", state_kept, is_random},
    {"NR", "not_repeatable", "other numbers at each call from the same state", not_repeatable, is_random},
    {"ND", "std_scaled", "the standard deviation is 10% too large", std_scaled, is_normal},
    {"NM", "mean_shifted", "the mean is off by a tenth of the standard deviation", mean_shifted, is_normal},
    {"NU", "uniform", "uniform numbers of the right mean and standard deviation", uniform, is_normal},
    {"NH", "half_repeated", "the second half of the numbers repeats the first", half_repeated, is_random},
};

}  // namespace

std::span<const Fault> random_faults() { return kRandomFaults; }

}  // namespace diopi::mutation
