/// Faults that read operands wrongly, or not at all.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

/// The call with another tensor instead of `old`.
Call exchanged(const Scene& scene, const TensorPtr& old, const TensorPtr& other) {
    return scene.with([&](const TensorPtr& tensor, const Arg&) { return tensor == old ? other : tensor; });
}

/// A broadcast operand is read element after element, and from its start again at its end.
void broadcast_ignored(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr) return;
    for (const TensorPtr& input : scene.inputs()) {
        if (input->numel() <= 1 || input->numel() >= result->tensor->numel()) continue;
        auto read = make_tensor(cpu_device(), {result->tensor->shape, input->dtype, {}});
        if (!read.ok()) return;
        const TensorPtr dense = dense_copy(*input);
        const size_t size = size_of(input->dtype);
        for (int64_t i = 0; i < (*read)->numel(); ++i) {
            std::memcpy(element(**read, i), element(*dense, i % dense->numel()), size);
        }
        return scene.run_instead(exchanged(scene, input, *read));
    }
}

/// The last operand is read as if all its slices were the first one.
void first_slice_for_all(Scene& scene) {
    const auto inputs = scene.inputs();
    for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
        if ((*input)->shape.empty() || (*input)->shape.front() < 2) continue;
        auto repeated = std::make_shared<Tensor>(**input);
        repeated->strides.front() = 0;
        return scene.run_instead(exchanged(scene, *input, dense_copy(*repeated)));
    }
}

/// The last element of each row of the first operand counts as 0: a loop that ends one step early.
void row_ends_ignored(Scene& scene) {
    const auto inputs = scene.inputs();
    const auto input = std::ranges::find_if(inputs, [](const TensorPtr& t) { return t->rank() > 0; });
    if (input == inputs.end() || (*input)->shape.back() < 2) return;
    const TensorPtr cut = dense_copy(**input);
    const int64_t columns = cut->shape.back();
    for (int64_t i = columns - 1; i < cut->numel(); i += columns) {
        std::memset(element(*cut, i), 0, size_of(cut->dtype));
    }
    scene.run_instead(exchanged(scene, *input, cut));
}

/// Saved results of a forward call may be computed again: to ignore them is not a fault.
void optional_ignored(Scene& scene) {
    for (size_t i = scene.call().args.size(); i-- > 0;) {
        const Arg& arg = scene.call().row->args()[i];
        const Value& value = scene.call().args[i];
        const bool present = std::holds_alternative<TensorPtr>(value) && !is_null(value);
        if (arg.is_output || arg.is_inout || !arg.optional || !present || arg.name.starts_with("save")) continue;
        Call changed = scene.call();
        changed.args[i] = TensorPtr();
        scene.run_instead(std::move(changed));
        if (scene.changed()) return;
    }
}

void number_ignored(Scene& scene) {
    Call changed = scene.call();
    for (size_t i = changed.args.size(); i-- > 0;) {
        if (auto* scalar = std::get_if<Scalar>(&changed.args[i])) {
            if (scalar->as_double() == 1) continue;
            *scalar = Scalar::of(int64_t{1});
            return scene.run_instead(std::move(changed));
        }
    }
}

/// The call with each floating number of its arguments changed.
template <class Change>
void run_with_numbers(Scene& scene, Change change) {
    Call changed = scene.call();
    for (Value& value : changed.args) {
        if (auto* scalar = std::get_if<Scalar>(&value); scalar != nullptr && is_floating(scalar->dtype)) {
            scalar->real = change(scalar->real);
        }
        if (auto* number = std::get_if<double>(&value)) *number = change(*number);
    }
    scene.run_instead(std::move(changed));
}

bool all_integers(const Scene& scene) {
    return std::ranges::all_of(scene.inputs(), [](const TensorPtr& tensor) { return is_integer(tensor->dtype); });
}

/// Beside integers only: a floating number is then converted to their dtype.
void fraction_cut(Scene& scene) {
    if (all_integers(scene)) run_with_numbers(scene, [](double x) { return std::trunc(x); });
}

/// A fast path for whole numbers that tests only the whole part: 2.5 is taken for 2.
void fast_path_too_wide(Scene& scene) {
    if (!all_integers(scene)) run_with_numbers(scene, [](double x) { return x > 1 ? std::trunc(x) : x; });
}

/// Numbers go through float32 beside float64.
void number_in_float32(Scene& scene) {
    const auto is_double = [](const TensorPtr& tensor) { return tensor->dtype == Dtype::float64; };
    if (!std::ranges::any_of(scene.inputs(), is_double)) return;
    run_with_numbers(scene, [](double x) { return double{static_cast<float>(x)}; });
}

/// Only the lowest bit counts in a byte that chooses an element.
void condition_bit(Scene& scene) {
    for_each_tensor(std::as_const(scene.call()), [&](const Place& place, const TensorPtr& tensor) {
        if (!place.arg.takes_bytes || tensor->dtype != Dtype::uint8 || tensor->numel() == 0) return;
        const TensorPtr bits = dense_copy(*tensor);
        for (int64_t i = 0; i < bits->numel(); ++i) *element(*bits, i) &= std::byte{1};
        scene.run_instead(exchanged(scene, tensor, bits));
    });
}
bool has_byte_condition(const Row& row) { return std::ranges::any_of(row.args(), &Arg::takes_bytes); }

/// Where an output is an input, too, it is read after it was written.
void read_after_write(Scene& scene) {
    for (const Scene::Result& result : scene.results()) {
        if (result.is_inout) continue;
        for (const TensorPtr& input : scene.inputs()) {
            const bool is_same = input->storage.memory == result.tensor->storage.memory;
            if (!is_same || input->shape != result.right->shape || input->dtype != result.right->dtype) continue;
            return scene.run_instead(scene.with([&](const TensorPtr& tensor, const Arg& arg) {
                return tensor == input && !arg.is_output ? result.right : tensor;
            }));
        }
    }
}

/// No error where the call asks for one.
void error_forgotten(Scene& scene) {
    if (scene.outcome().ok()) return;
    Call changed = scene.call();
    for (size_t i = 0; i < changed.args.size(); ++i) {
        if (changed.row->args()[i].asks_for_error) changed.args[i] = false;
    }
    scene.run_instead(std::move(changed));
    scene.succeed();
}
bool may_ask_for_error(const Row& row) { return std::ranges::any_of(row.args(), &Arg::asks_for_error); }

/// A launch takes 16 tensors of a list, and those of the next one get the results of the first.
void list_of_sixteen(Scene& scene) {
    constexpr size_t kLaunch = 16;
    for (const Scene::Result& result : scene.results()) {
        if (result.place.position < kLaunch) continue;
        for (const Scene::Result& first : scene.results()) {
            const bool is_source =
                first.place.arg == result.place.arg && first.place.position == result.place.position % kLaunch;
            const bool fits = first.right->shape == result.right->shape && first.right->dtype == result.right->dtype;
            if (is_source && fits) put(*first.right, *result.tensor);
        }
    }
}
bool has_lists(const Row& row) {
    return has_right_values(row) && std::ranges::any_of(row.args(), &Arg::is_tensor_list);
}

/// With beta 0 the input is still multiplied: what is not finite there makes the result NaN.
void unread_input_multiplied(Scene& scene) {
    const Value& beta = scene.call()["beta"];
    const auto* factor = std::get_if<Scalar>(&beta);
    const TensorPtr input = std::get<TensorPtr>(scene.call()["input"]);
    const auto* result = scene.first();
    if (factor == nullptr || factor->as_double() != 0 || input == nullptr || result == nullptr || result->is_inout) {
        return;
    }
    const std::vector<double> read = values_of(*dense_copy(*input));
    if (std::ranges::all_of(read, [](double x) { return std::isfinite(x); })) return;
    std::vector<double> values = values_of(*result->right);
    for (double& value : values) value = std::nan("");
    if (!values.empty()) put_values(values, *result->tensor);
}
bool adds_product(const Row& row) { return row.rule == ShapeRule::add_product; }

/// The last result is computed together with one that is not wanted.
void results_tied(Scene& scene) {
    const auto args = scene.call().row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        const Arg& arg = args[i];
        if (!arg.is_output || !arg.optional || !arg.is_tensor() || !is_null(scene.call().args[i])) continue;
        if (!scene.results().empty()) put(*scene.results().back().before, *scene.results().back().tensor);
        return;
    }
}
bool has_unwanted_results(const Row& row) {
    const auto is_output = [](const Arg& arg) { return arg.is_output && arg.is_tensor(); };
    return row.repeat == Repeat::repeatable && row.rule != ShapeRule::unknown &&
           std::ranges::count_if(row.args(), is_output) > 1 &&
           std::ranges::any_of(row.args(), [&](const Arg& arg) { return is_output(arg) && arg.optional; });
}

void second_gradient(Scene& scene, double factor) {
    if (scene.results().size() < 2) return;
    const Scene::Result& second = scene.results()[1];
    std::vector<double> values = values_of(*second.right);
    for (double& value : values) value *= factor;
    if (!values.empty()) put_values(values, *second.tensor);
}

void second_gradient_dropped(Scene& scene) { second_gradient(scene, 0); }
void second_gradient_doubled(Scene& scene) { second_gradient(scene, 2); }

bool broadcasts(const Row& row) {
    return row.family == Family::elementwise && std::ranges::count_if(row.args(), [](const Arg& arg) {
                                                    return (arg.is_tensor() || arg.is_tensor_list()) && !arg.is_output;
                                                }) >= 2;
}

bool is_backward(const Row& row) { return row.variant == Variant::backward; }

/// x / (rms + eps) in the place of x / sqrt(rms^2 + eps): where the root mean square is 1, as if eps were twice as
/// large.
void eps_outside_root(Scene& scene) {
    Call changed = scene.call();
    changed["eps"] = 2 * std::get<double>(changed["eps"]);
    scene.run_instead(std::move(changed));
}
bool has_root_mean_square(const Row& row) {
    return row.rule == ShapeRule::rms_norm || row.rule == ShapeRule::rms_norm_in_place;
}

/// Pairs of neighbours are taken for elements half a row apart, and the other way round.
void pairs_confused(Scene& scene) {
    Call changed = scene.call();
    changed["interleaved"] = !changed.flag("interleaved");
    scene.run_instead(std::move(changed));
}
bool may_interleave(const Row& row) { return row.rule == ShapeRule::rotary; }

constexpr Fault kOperandsFaults[] = {
    {"OB", "broadcast_ignored", "an operand that is broadcast is read as if it had all elements", broadcast_ignored,
     broadcasts},
    {"OS", "first_slice_for_all", "the last operand is broadcast along its first dim", first_slice_for_all,
     has_right_values},
    {"OE", "row_ends_ignored", "the last element of each row of the first operand counts as 0", row_ends_ignored,
     has_right_values},
    {"OO", "optional_ignored", "an optional tensor that is given is ignored", optional_ignored, has_right_values},
    {"ON", "number_ignored", "a number (alpha, value) is read as 1", number_ignored, has_right_values},
    {"OF", "fraction_cut", "a number beside integers loses its fraction", fraction_cut, has_right_values},
    {"OP", "fast_path_too_wide", "a number above 1 beside floating tensors loses its fraction", fast_path_too_wide,
     has_right_values},
    {"OR", "number_in_float32", "numbers are rounded to float32 beside float64", number_in_float32, has_right_values},
    {"OC", "condition_bit", "only the lowest bit counts in a byte that chooses an element", condition_bit,
     has_byte_condition},
    {"OA", "read_after_write", "where the output is an input, it is read after it was written", read_after_write,
     has_right_values, Ending::kReturns, Acting::later},
    {"OQ", "error_forgotten", "no error is given where the call asks for one", error_forgotten, may_ask_for_error,
     Ending::kReturns, Acting::on_error},
    {"OL", "list_of_sixteen", "from the 17th on, tensors of a list get the results of the first 16", list_of_sixteen,
     has_lists},
    {"OU", "unread_input_multiplied",
     "an input that is not read with beta 0 makes the result NaN where it is not finite", unread_input_multiplied,
     adds_product},
    {"OT", "results_tied", "without one result that may be null, the last one is not written either", results_tied,
     has_unwanted_results},
    {"OZ", "second_gradient_dropped", "the gradient of the second operand is 0", second_gradient_dropped, is_backward},
    {"OD", "second_gradient_doubled", "the gradient of the second operand is doubled", second_gradient_doubled,
     is_backward},
    {"OX", "eps_outside_root", "eps is added to the root mean square, not to the mean of squares", eps_outside_root,
     has_root_mean_square},
    {"OI", "pairs_confused", "interleaved pairs are taken for halves, and the other way round", pairs_confused,
     may_interleave},
};

}  // namespace

std::span<const Fault> operand_faults() { return kOperandsFaults; }

}  // namespace diopi::mutation
