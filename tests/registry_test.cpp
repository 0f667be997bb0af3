// The schema and the backends together: what a new operator must bring.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "backend/backend.hpp"
#include "infer/work.hpp"
#include "schema/schema.hpp"
#include "worker/backend_probe.hpp"

namespace diopi {
namespace {

/// Operators that every backend of ours has in full.
constexpr std::string_view kComplete[] = {
    "add",           "sub",      "mul",         "div",        "fill_",
    "relu",          "conv2d",   "batch_norm",  "max_pool2d", "adaptive_avg_pool2d",
    "linear",        "mm",       "bmm",         "matmul",     "addmm",
    "baddbmm",       "softmax",  "log_softmax", "nll_loss",   "nll_loss_v2",
    "cross_entropy", "mean",     "sum",         "argmax",     "cat",
    "flip",          "normal_",  "sgd",         "adam",       "adamw",
    "threshold",     "sigmoid",  "silu",        "gelu",       "tanh",
    "exp",           "expm1",    "log",         "log2",       "log10",
    "log1p",         "sqrt",     "rsqrt",       "reciprocal", "sin",
    "cos",           "erf",      "neg",         "pow",        "maximum",
    "minimum",       "addcmul",  "addcdiv",     "where",      "copy_",
    "cast_dtype",    "expand",   "zeros",       "ones",       "zero_",
    "embedding",     "triu",     "layer_norm",  "tril",       "masked_fill",
    "arange",        "bernoulli"};

/// Operators that the cuda backend has in full, where it is built.
constexpr std::string_view kCompleteOnCuda[] = {"add",   "sub",  "mul",     "div",        "fill_", "relu",    "exp",
                                                "expm1", "log",  "log2",    "log10",      "log1p", "sqrt",    "rsqrt",
                                                "sin",   "cos",  "erf",     "reciprocal", "pow",   "sigmoid", "tanh",
                                                "silu",  "gelu", "maximum", "minimum",    "where"};

const Backend& backend(std::string_view name) {
    const auto found = find_backend(name);
    REQUIRE(found.ok());
    return **found;
}

bool goes_forward(const Row& row) { return row.variant == Variant::forward || row.variant == Variant::inplace; }

}  // namespace

TEST_CASE("the schema describes each of the 538 operator functions once") {
    std::set<std::string_view> names;
    for (const Row& row : rows()) {
        INFO(row.function);
        CHECK(names.insert(row.function).second);
        CHECK(find_row(row.function) == &row);
        CHECK_FALSE(row.op.empty());
    }
    CHECK(rows().size() == 538);
}

TEST_CASE("a row's arguments are told apart by name, and refer to arguments that are there") {
    for (const Row& row : rows()) {
        std::set<std::string_view> names;
        for (const Arg& arg : row.args()) {
            INFO(row.function << ", " << arg.name);
            CHECK(names.insert(arg.name).second);
            if (!arg.list.empty()) CHECK(row.find(arg.list) >= 0);
        }
    }
}

TEST_CASE("a row says which of its arguments may come in another form") {
    const Row& conv = *find_row("diopiConvolution2d");
    CHECK(conv.traits.exact);
    CHECK(conv.traits.empty);
    CHECK_FALSE(conv.traits.zero_dim);
    const Arg& image = conv.args()[1];
    CHECK(image.name == "input");
    CHECK(image.channels_last);
    CHECK(image.spatial_dims == 2);
    const Row& norm = *find_row("diopiBatchNorm");
    CHECK(norm.args()[3].channels_last);
    CHECK(norm.args()[3].spatial_dims == -1);
    CHECK(norm.args()[static_cast<size_t>(norm.find("running_var"))].has_meaning);
    const Row& loss = *find_row("diopiNLLLoss");
    const Arg& target = loss.args()[2];
    CHECK(target.name == "target");
    CHECK(target.has_meaning);
    CHECK(target.four_bytes);
    CHECK(loss.args().back().standard == "-100");
}

TEST_CASE("every backward function belongs to an operator that goes forward") {
    for (const Row& row : rows()) {
        if (row.variant != Variant::backward) continue;
        bool has_forward = false;
        for (const Row* other : rows_of(row.op)) has_forward = has_forward || goes_forward(*other);
        INFO(row.function << " of " << row.op);
        CHECK(has_forward);
    }
}

TEST_CASE("an operator is complete in every backend: forward, in place and backward") {
    for (const std::string_view op : kComplete) {
        INFO(op);
        CHECK_FALSE(rows_of(op).empty());
        for (const Row* row : rows_of(op)) {
            for (const std::string_view name : {"reference", "cpu"}) {
                INFO(row->function << " in " << name);
                CHECK(backend(name).implements(*row));
            }
        }
    }
}

TEST_CASE("the cuda backend has its operators in full, or none in a build without CUDA") {
    const Backend& cuda = backend("cuda");
    const Status device = probe_backend(cuda, 60);
    const bool is_built = device.ok() || device.message().find("this build has no cuda backend") == std::string::npos;
    for (const std::string_view op : kCompleteOnCuda) {
        CHECK_FALSE(rows_of(op).empty());
        for (const Row* row : rows_of(op)) {
            INFO(row->function);
            CHECK(cuda.implements(*row) == is_built);
        }
    }
}

TEST_CASE("what a backend implements can be inferred, has an oracle and a formula of its work") {
    for (const Backend* each : backends()) {
        for (const Row& row : rows()) {
            if (!each->implements(row)) continue;
            INFO(row.function << " in " << each->name());
            CHECK(row.rule != ShapeRule::unknown);
            CHECK(reference_backend().implements(row));
            CHECK(has_work_formula(row));
        }
    }
}

TEST_CASE("every function of the captures that come with the program is on both backends") {
    const std::string mark = "\"function\": \"";
    size_t calls = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(DIOPI_SOURCE_DIR) + "/cases/captures")) {
        std::ifstream file(entry.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
            at += mark.size();
            const std::string function = text.substr(at, text.find('"', at) - at);
            INFO(function << " of " << entry.path().filename());
            const Row* row = find_row(function);
            REQUIRE(row != nullptr);
            if (!backend("cpu").implements(*row) || !reference_backend().implements(*row)) CHECK(function.empty());
            ++calls;
        }
    }
    CHECK(calls > 2000);
}

TEST_CASE("backends are found by name, and cpu is the default") {
    REQUIRE_FALSE(backends().empty());
    CHECK(backends().front()->name() == "cpu");
    std::set<std::string_view> names;
    for (const Backend* each : backends()) {
        CHECK(names.insert(each->name()).second);
        CHECK(&backend(each->name()) == each);
    }
    CHECK(names.contains("cuda"));
    CHECK(names.contains("reference"));
    const auto missing = find_backend("gpu");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().code == Errc::kBadInput);
    CHECK(missing.error().message.find("'gpu'; there are: cpu, cuda, cuda+tf32, reference") != std::string::npos);
}

}  // namespace diopi
