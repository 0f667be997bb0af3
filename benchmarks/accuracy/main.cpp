/// diopi_accuracy [FUNCTION...] [--impl NAME|PATH...] [--every N]: the largest error of each function of float32
/// numbers over all 2^32 of them, or every N-th one, in ulp; of powers over as many drawn pairs. NaN and infinity must
/// be where they belong.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <thread>

#include "backend/library_backend.hpp"
#include "call/chain.hpp"
#include "check/judge.hpp"

namespace diopi::accuracy {

namespace {

constexpr uint64_t kFloats = uint64_t{1} << 32;
constexpr int64_t kBatch = 1 << 16;

struct Function {
    const char* name;
    const char* c_name;
    const char* text;  ///< gelu's approximation
    double (*exact)(double x, double y);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) {
    const long double wide = x;
    return static_cast<double>(wide * std::erfc(wide * -0.707106781186547524400844362104849039L) / 2);
}
double gelu_tanh(double x) {
    const long double wide = x;
    const long double u = wide * 0.797884560802865355879892119868763737L * (1 + 0.044715L * wide * wide);
    return static_cast<double>(wide / (1 + std::exp(-2 * u)));
}
/// Newton's steps on erf, or on erfc where erf is near 1: x is a float, so 1 - |x| is exact.
double erfinv(double x) {
    const double a = std::fabs(x);
    if (!(a < 1)) return a == 1 ? x * HUGE_VAL : NAN;
    constexpr double kTwoBySqrtPi = 1.128379167095512573896;
    // Winitzki's approximation, within 0.4%.
    const double l = std::log1p(-a * a), p = 2 / (0.147 * M_PI) + l / 2;
    double y = std::sqrt(std::max(std::sqrt(p * p - l / 0.147) - p, 0.0));
    if (a < 1e-3) y = a / kTwoBySqrtPi;
    for (int i = 0; i < 3; ++i) {
        const double slope = kTwoBySqrtPi * std::exp(-y * y);
        const double step = (a < 0.5 ? a - std::erf(y) : std::erfc(y) - (1 - a)) / slope;
        // Halley's method: the second derivative is -2 y times the first.
        y += step / (1 + y * step);
    }
    return std::copysign(y, x);
}

constexpr Function kFunctions[] = {
    {"exp", "diopiExp", nullptr, [](double x, double) { return std::exp(x); }},
    {"expm1", "diopiExpm1", nullptr, [](double x, double) { return std::expm1(x); }},
    {"log", "diopiLog", nullptr, [](double x, double) { return std::log(x); }},
    {"log2", "diopiLog2", nullptr, [](double x, double) { return std::log2(x); }},
    {"log10", "diopiLog10", nullptr, [](double x, double) { return std::log10(x); }},
    {"log1p", "diopiLog1p", nullptr, [](double x, double) { return std::log1p(x); }},
    {"sqrt", "diopiSqrt", nullptr, [](double x, double) { return std::sqrt(x); }},
    {"rsqrt", "diopiRsqrt", nullptr, [](double x, double) { return 1 / std::sqrt(x); }},
    {"reciprocal", "diopiReciprocal", nullptr, [](double x, double) { return 1 / x; }},
    {"sin", "diopiSin", nullptr, [](double x, double) { return std::sin(x); }},
    {"cos", "diopiCos", nullptr, [](double x, double) { return std::cos(x); }},
    {"tan", "diopiTan", nullptr, [](double x, double) { return std::tan(x); }},
    {"asin", "diopiAsin", nullptr, [](double x, double) { return std::asin(x); }},
    {"acos", "diopiAcos", nullptr, [](double x, double) { return std::acos(x); }},
    {"atan", "diopiAtan", nullptr, [](double x, double) { return std::atan(x); }},
    {"sinh", "diopiSinh", nullptr, [](double x, double) { return std::sinh(x); }},
    {"cosh", "diopiCosh", nullptr, [](double x, double) { return std::cosh(x); }},
    {"asinh", "diopiAsinh", nullptr, [](double x, double) { return std::asinh(x); }},
    {"acosh", "diopiAcosh", nullptr, [](double x, double) { return std::acosh(x); }},
    {"atanh", "diopiAtanh", nullptr, [](double x, double) { return std::atanh(x); }},
    {"erfinv", "diopiErfinv", nullptr, [](double x, double) { return erfinv(x); }},
    {"erf", "diopiErf", nullptr, [](double x, double) { return std::erf(x); }},
    {"tanh", "diopiTanh", nullptr, [](double x, double) { return std::tanh(x); }},
    {"sigmoid", "diopiSigmoid", nullptr, [](double x, double) { return sigmoid(x); }},
    {"silu", "diopiSilu", nullptr, [](double x, double) { return x * sigmoid(x); }},
    {"gelu", "diopiGelu", "none", [](double x, double) { return gelu(x); }},
    {"gelu_tanh", "diopiGelu", "tanh", [](double x, double) { return gelu_tanh(x); }},
    {"pow", "diopiPowTensor", nullptr, [](double x, double y) { return std::pow(x, y); }},
};

/// The largest error so far, or why there is none.
struct Worst {
    double ulps = -1, x = 0, y = 0;
    std::string error;
};

struct Batch {
    explicit Batch(const Row& row) : call(row) {}
    Call call;
    TensorPtr input, exponent, out;
};

Result<Batch> make_batch(const Function& function) {
    Batch batch(*find_row(function.c_name));
    for (TensorPtr* tensor : {&batch.input, &batch.exponent, &batch.out}) {
        auto made = make_tensor(cpu_device(), {{kBatch}, Dtype::float32, {}});
        if (!made.ok()) return made.error();
        *tensor = *made;
    }
    batch.call["out"] = batch.out;
    batch.call["input"] = batch.input;
    if (function.text != nullptr) batch.call["approximate"] = std::string(function.text);
    if (batch.call.has("exponent")) batch.call["exponent"] = batch.exponent;
    return batch;
}

/// 0 where the result is right to the bit, infinity where it is NaN or infinite and should not be, or the reverse.
double error_in_ulps(double actual, double exact, const Format& format) {
    if (actual == exact) return 0;
    if (std::isnan(exact)) return std::isnan(actual) ? 0 : HUGE_VAL;
    if (std::fabs(exact) >= format.overflow) return actual == std::copysign(HUGE_VAL, exact) ? 0 : HUGE_VAL;
    return std::isfinite(actual) ? std::fabs(actual - exact) / ulp_of(exact, format) : HUGE_VAL;
}

void judge_batch(const Batch& batch, const std::vector<double>& exact, const Format& format, Worst& worst) {
    const float *x = batch.input->data_as<float>(), *y = batch.exponent->data_as<float>();
    const float* got = batch.out->data_as<float>();
    for (size_t i = 0; i < exact.size(); ++i) {
        const double ulps = error_in_ulps(got[i], exact[i], format);
        if (ulps > worst.ulps) worst.ulps = ulps, worst.x = x[i], worst.y = y[i];
    }
}

/// Exponents that keep x^y inside float32, one in eight a whole number.
void draw_exponents(uint64_t seed, const float* x, float* y) {
    std::mt19937_64 draw(seed);
    for (int64_t i = 0; i < kBatch; ++i) {
        const double log_x = std::log(std::fabs(static_cast<double>(x[i])));
        const double share = static_cast<double>(draw()) * 0x1p-63 - 1;
        y[i] = static_cast<float>(share * 100 / std::max(std::fabs(log_x), 1e-3));
        if (draw() % 8 == 0) y[i] = std::round(y[i]);
    }
}

/// The worst of each backend in the batches `first`, first + step, ... of the function's arguments.
std::vector<Worst> measure(const Function& function, const std::vector<const Backend*>& backends, uint64_t every,
                           uint64_t first, uint64_t step) {
    omp_set_num_threads(1);
    std::vector<Worst> worst(backends.size());
    auto made = make_batch(function);
    if (!made.ok()) return std::vector<Worst>(backends.size(), {0, 0, 0, made.error().message});
    Batch& batch = *made;
    std::vector<double> exact(kBatch);
    Context context(cpu_device());
    const Format format = format_of(Dtype::float32);
    const uint64_t batches = kFloats / every / kBatch;
    for (uint64_t b = first; b < batches; b += step) {
        float *x = batch.input->data_as<float>(), *y = batch.exponent->data_as<float>();
        for (uint64_t i = 0; i < kBatch; ++i) {
            x[i] = std::bit_cast<float>(static_cast<uint32_t>((b * kBatch + i) * every));
        }
        if (batch.call.has("exponent")) draw_exponents(b, x, y);
        for (size_t i = 0; i < exact.size(); ++i) exact[i] = function.exact(x[i], y[i]);
        for (size_t k = 0; k < backends.size(); ++k) {
            if (!worst[k].error.empty()) continue;
            Call call = batch.call;
            const Outcome outcome = Chain(*backends[k]).run(call, context);
            if (outcome.ok()) {
                judge_batch(batch, exact, format, worst[k]);
            } else {
                worst[k].error = outcome.message;
            }
        }
    }
    return worst;
}

std::string cell(const Function& function, const Worst& worst) {
    if (!worst.error.empty()) return worst.error;
    const bool is_power = std::string_view(function.name) == "pow";
    const std::string at =
        is_power ? fmt::format("({:.9g}, {:.9g})", worst.x, worst.y) : fmt::format("{:.9g}", worst.x);
    return std::isinf(worst.ulps) ? "wrong at " + at : fmt::format("{:.2f} at {}", worst.ulps, at);
}

Result<const Backend*> backend_of(const std::string& name, std::vector<std::unique_ptr<LibraryBackend>>& libraries) {
    if (name.find('/') == std::string::npos) return find_backend(name);
    auto library = LibraryBackend::create(name, "cpu");
    if (!library.ok()) return library.error();
    if (Status s = (*library)->open(); !s.ok()) return s.error();
    libraries.push_back(std::move(*library));
    return &libraries.back()->backend();
}

int run(const std::vector<std::string>& functions, const std::vector<std::string>& impls, uint64_t every) {
    std::vector<std::unique_ptr<LibraryBackend>> libraries;
    std::vector<const Backend*> backends;
    for (const std::string& impl : impls) {
        auto backend = backend_of(impl, libraries);
        if (!backend.ok()) {
            fmt::print(stderr, "diopi_accuracy: {}\n", backend.error().message);
            return 2;
        }
        backends.push_back(*backend);
    }
    const uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
    for (const Function& function : kFunctions) {
        if (!functions.empty() && std::ranges::find(functions, function.name) == functions.end()) continue;
        fmt::print("{:10}", function.name);
        std::vector<std::vector<Worst>> parts(threads);
        std::vector<std::thread> running;
        for (uint64_t t = 0; t < threads; ++t) {
            running.emplace_back([&, t] { parts[t] = measure(function, backends, every, t, threads); });
        }
        for (std::thread& each : running) each.join();
        for (size_t k = 0; k < backends.size(); ++k) {
            Worst worst;
            for (const std::vector<Worst>& part : parts) {
                if (part[k].ulps > worst.ulps || !part[k].error.empty()) worst = part[k];
            }
            fmt::print("  {:32}", cell(function, worst));
        }
        fmt::print("\n");
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace

}  // namespace diopi::accuracy

int main(int argc, char** argv) {
    CLI::App app("the largest errors of functions of float32 numbers, in ulp");
    std::vector<std::string> functions, impls = {"cpu"};
    uint64_t every = 1;
    std::vector<std::string> names;
    for (const diopi::accuracy::Function& function : diopi::accuracy::kFunctions) names.emplace_back(function.name);
    app.add_option("FUNCTION", functions, "functions (default: all)")->check(CLI::IsMember(names));
    app.add_option("--impl", impls, "backends, or libraries by their paths (default: cpu)");
    app.add_option("--every", every, "every N-th number only (default: 1)")->check(CLI::Range(1, 1 << 16));
    CLI11_PARSE(app, argc, argv);
    return diopi::accuracy::run(functions, impls, every);
}
