#include "step/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "call/factors.hpp"
#include "call/tensors.hpp"
#include "check/judge.hpp"

namespace diopi {

namespace {

/// Relative rounding of each factor of a product in TF32.
constexpr double kTf32Roundoff = 0x1p-11;

/// Whether the place is an operand's: read, and of influence on the result's dtype.
bool is_operand(const Place& place) { return place.is_read() && place.arg.influence == Influence::both; }

/// Whether an integer operand has more digits than the dtype that computes the floating result: it is rounded first.
bool rounds_integers(const Call& call, Dtype result) {
    const int digits = format_of(is_half(result) ? Dtype::float32 : component_of(result)).significand;
    bool rounds = false;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        rounds |=
            is_operand(place) && is_integer(tensor->dtype) && 8 * static_cast<int>(size_of(tensor->dtype)) > digits;
    });
    return rounds;
}

/// Whether the quotient is rounded to a whole number. The reference has error bounds for such quotients.
bool is_whole_quotient(const Call& call) {
    return call.has("rounding_mode") && call.integer("rounding_mode") != RoundModeNone;
}

/// Class B allows for one rounding. A sum with a factor alpha has two, a sum, product or quotient of large integers up
/// to three, a complex product or quotient, and the modulus, several: they are checked as class D, as sums of that many
/// products.
void split_composite(const Call& call, const TensorSpec& spec, Bound& bound) {
    const bool is_plain = !is_scaled(call) && !rounds_integers(call, spec.dtype);
    bool of_complex = is_complex(spec.dtype);
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        of_complex |= is_operand(place) && is_complex(tensor->dtype);
    });
    if ((is_plain && !of_complex) || is_whole_quotient(call)) return;
    bound.accuracy = AccuracyClass::D;
    bound.accumulation_length = of_complex ? 4 : 2;
}

/// The additional error, in ulp of the output's dtype, of a rounding to a wider dtype before the one to that dtype. A
/// number beside a tensor of a half type is rounded to float32, and operands of a wider dtype make a result of theirs:
/// it may be further from a value of the output's dtype than the result of operands that have that dtype. An integer
/// with more digits is rounded to float32 for a half type, and to float64 by the oracle.
double ulp_of_first_rounding(const Call& call, Dtype dtype) {
    const int digits = format_of(component_of(dtype)).significand;
    int wider = 0;
    for (size_t i = 0; i < call.args.size() && is_half(dtype); ++i) {
        const bool is_number = std::holds_alternative<Scalar>(call.args[i]) && !call.row->args()[i].is_factor;
        if (is_number) wider = format_of(Dtype::float32).significand;
    }
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (is_operand(place) && is_floating(tensor->dtype)) {
            wider = std::max(wider, format_of(tensor->dtype).significand);
        }
    });
    if (rounds_integers(call, dtype)) {
        wider = std::max(wider, format_of(is_half(dtype) ? Dtype::float32 : Dtype::float64).significand);
    }
    return wider > digits ? std::ldexp(0.5, digits - wider) : 0;
}

/// Adds that rounding: class A knows one rounding only, so its results become those of class B.
void add_first_rounding(const Call& call, Dtype dtype, Bound& bound) {
    const double ulp = ulp_of_first_rounding(call, dtype);
    if (ulp == 0) return;
    bound.accuracy = AccuracyClass::B;
    bound.max_ulp += ulp;
}

/// Adds the rounding to the adaptor's dtype before the one to the output's own.
void add_earlier_rounding(const StepRules& rules, const Step& step, const OutputSpec& output, Bound& bound) {
    if (rules.adaptor == nullptr || bound.accuracy != AccuracyClass::B) return;
    const double rounded_before = earlier_rounding(step, output, rules.adaptor->rules());
    if (!(rounded_before > 0)) return;
    bound.accuracy = AccuracyClass::C;
    bound.tolerance.instead = Tolerance::Instead::kUlp;
    bound.tolerance.max_ulp = bound.max_ulp + rounded_before;
}

}  // namespace

Bound bound_for(const StepRules& rules, const Step& step, const OutputSpec& output) {
    const TensorSpec& spec = output.spec;
    Bound bound;
    bound.accuracy = step.call.row->accuracy;
    bound.max_ulp = step.call.row->max_ulp;
    const bool whole = !is_floating(spec.dtype) && !is_complex(spec.dtype);
    if (whole || copies_only(step.call) || (rules.exact && step.call.row->traits.exact))
        bound.accuracy = AccuracyClass::A;
    bound.tolerance = rules.tolerance;
    if (!whole && rules.tolerance.instead != Tolerance::Instead::kNothing) {
        const bool ulp = rules.tolerance.instead == Tolerance::Instead::kUlp;
        bound.accuracy = ulp ? AccuracyClass::C : AccuracyClass::E;
        return bound;
    }
    bound.accumulation_length = accumulation_length(step.call, output);
    const bool is_copy = step.call.row->accuracy == AccuracyClass::A;
    if (!whole && (is_copy || bound.accuracy == AccuracyClass::B)) add_first_rounding(step.call, spec.dtype, bound);
    if (!is_copy && bound.accuracy == AccuracyClass::B) split_composite(step.call, spec, bound);
    add_earlier_rounding(rules, step, output, bound);
    const Dtype precision = step.precision_of(output);
    if (precision == Dtype::float64 || precision == Dtype::complex128) bound.accumulator_roundoff = 0x1p-53;
    // A number that is given back was rounded to the dtype of the tensors before.
    if (precision != spec.dtype && is_half(precision)) {
        bound.accumulator_roundoff = std::ldexp(1.0, -format_of(precision).significand);
    }
    const bool is_tf32 = rules.backend->is_tf32() && spec.dtype == Dtype::float32;
    if (is_tf32 && is_product(step.call, output)) bound.extra_roundoff = 2 * kTf32Roundoff;
    return bound;
}

}  // namespace diopi
