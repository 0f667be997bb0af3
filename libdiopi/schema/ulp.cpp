#include <algorithm>

#include "schema/schema.hpp"

namespace diopi {

namespace {

struct OpUlp {
    std::string_view op;
    double ulp;
};

/// Source: OpenCL C specification, relative error as ulps, full profile. Not in it: sigmoid and silu (exp, a sum and a
/// quotient: 3 + 0.5 + 2.5), gelu (erfc, which has 16, and a product).
constexpr OpUlp kUlps[] = {
    {"acos", 4}, {"acosh", 4}, {"asin", 4},    {"asinh", 4}, {"atan", 5}, {"atanh", 5}, {"cos", 4},   {"cosh", 4},
    {"erf", 16}, {"exp", 3},   {"expm1", 3},   {"gelu", 17}, {"log", 3},  {"log10", 3}, {"log1p", 2}, {"log2", 3},
    {"pow", 16}, {"rsqrt", 2}, {"sigmoid", 6}, {"silu", 6},  {"sin", 4},  {"sinh", 4},  {"tan", 5},   {"tanh", 5},
};

}  // namespace

double max_ulp(const Row& row) {
    const auto found = std::ranges::find(kUlps, row.op, &OpUlp::op);
    const bool stated = row.accuracy == AccuracyClass::C && found != std::end(kUlps);
    return stated ? found->ulp : 0.5;
}

}  // namespace diopi
