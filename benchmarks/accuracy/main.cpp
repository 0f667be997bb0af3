/// diopi_accuracy [FUNCTION...] [--impl NAME|PATH...] [--every N]: the largest error of each function of float32
/// numbers over all 2^32 of them, or every N-th one, in ulp; of powers over as many drawn pairs. NaN and infinity must
/// be where they belong.
#include <fmt/format.h>

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

void judge_batch(const Function& function, const Batch& batch, const Format& format, Worst& worst) {
    const float *x = batch.input->data_as<float>(), *y = batch.exponent->data_as<float>();
    const float* got = batch.out->data_as<float>();
    for (int64_t i = 0; i < kBatch; ++i) {
        const double ulps = error_in_ulps(got[i], function.exact(x[i], y[i]), format);
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

/// Batches `first`, first + step, ... of the function's arguments.
Worst measure(const Function& function, const Backend& backend, uint64_t every, uint64_t first, uint64_t step) {
    Worst worst;
    auto made = make_batch(function);
    if (!made.ok()) return {0, 0, 0, made.error().message};
    Batch& batch = *made;
    Context context(cpu_device());
    const Format format = format_of(Dtype::float32);
    const uint64_t batches = kFloats / every / kBatch;
    for (uint64_t b = first; b < batches; b += step) {
        float *x = batch.input->data_as<float>(), *y = batch.exponent->data_as<float>();
        for (uint64_t i = 0; i < kBatch; ++i) {
            x[i] = std::bit_cast<float>(static_cast<uint32_t>((b * kBatch + i) * every));
        }
        if (batch.call.has("exponent")) draw_exponents(b, x, y);
        Call call = batch.call;
        const Outcome outcome = Chain(backend).run(call, context);
        if (!outcome.ok()) return {0, 0, 0, outcome.message};
        judge_batch(function, batch, format, worst);
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
        for (const Backend* backend : backends) {
            std::vector<Worst> parts(threads);
            std::vector<std::thread> running;
            for (uint64_t t = 0; t < threads; ++t) {
                running.emplace_back([&, t] { parts[t] = measure(function, *backend, every, t, threads); });
            }
            for (std::thread& each : running) each.join();
            Worst worst;
            for (const Worst& part : parts) {
                if (part.ulps > worst.ulps || !part.error.empty()) worst = part;
            }
            fmt::print("  {:32}", cell(function, worst));
            std::fflush(stdout);
        }
        fmt::print("\n");
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
