// The calls in data/golden, computed once by PyTorch (scripts/make_golden.py says how the files are laid out), on every
// path that answers for values: the reference in the calls' own dtypes, the float64 oracle, and the cpu backend.
#include <fmt/format.h>
#include <hdf5.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "call/chain.hpp"
#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "core/strided.hpp"
#include "run/oracle.hpp"
#include "store/hdf5_file.hpp"
#include "store/hdf5_types.hpp"

namespace diopi {
namespace {

using nlohmann::json;

/// A call that cannot be built, or that a path refuses: reported like a wrong value, never skipped.
struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
};

template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw Broken(result.error().message);
    return std::move(*result);
}

struct Wanted {
    size_t arg = 0;
    TensorPtr tensor;
};

/// One recorded call: host inputs, no memory for the outputs yet, and what PyTorch made of it.
struct Golden {
    std::string name;
    /// Computed by PyTorch in float64 and rounded once, where PyTorch has nothing better for a 16-bit dtype.
    bool is_rounded = false;
    Call call;
    std::vector<OutputSpec> outputs;
    std::vector<Wanted> wanted;  ///< outputs and in-out arguments whose value the standard gives a meaning
};

// ---- reading ----

Scalar boxed_scalar(const json& number) {
    if (number.is_boolean()) return Scalar::of(number.get<bool>());
    if (number.is_number_integer()) return Scalar::of(number.get<int64_t>());
    return Scalar::of(number.is_string() ? std::stod(number.get<std::string>()) : number.get<double>());
}

int64_t boxed_enum(const std::string& word) {
    static const std::map<std::string, int64_t> values = {
        {"none", 0},                     // of either enumeration
        {"mean", ReductionMean},         {"sum", ReductionSum},
        {"trunc", RoundModeTrunc},       {"floor", RoundModeFloor}};
    const auto found = values.find(word);
    if (found == values.end()) throw Broken("'" + word + "' is no value of an enumeration");
    return found->second;
}

Value boxed(const Arg& arg, const json& value) {
    if (value.is_null()) return {};
    switch (arg.kind) {
        case ArgKind::scalar: return boxed_scalar(value.at("scalar"));
        case ArgKind::int_list:
        case ArgKind::int_list_ptr: return value.get<IntList>();
        case ArgKind::reduction:
        case ArgKind::round_mode: return boxed_enum(value.get<std::string>());
        case ArgKind::int64:
        case ArgKind::int32:
        case ArgKind::int64_ptr: return value.get<int64_t>();
        case ArgKind::float32:
        case ArgKind::float64:
        case ArgKind::float64_ptr: return value.get<double>();
        case ArgKind::boolean:
        case ArgKind::boolean_ptr: return value.get<bool>();
        case ArgKind::tensor:
        case ArgKind::const_tensor:
        case ArgKind::tensors:
        case ArgKind::const_tensors:
        case ArgKind::text:
        case ArgKind::memory_format:
        case ArgKind::generator:
        case ArgKind::generators:
        case ArgKind::pointer: break;
    }
    throw Broken(fmt::format("a {} cannot stand in `args`", name(arg.kind)));
}

/// A golden file. Hdf5File reads no lists from attributes, so the strides are read beside it.
class GoldenFile {
 public:
    explicit GoldenFile(const std::string& path)
        : file_(take(Hdf5File::open(path))), handle_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {}

    [[nodiscard]] std::vector<std::string> names() const { return file_.children("/"); }

    [[nodiscard]] Golden read(const std::string& name) const {
        const std::string group = "/" + name;
        const std::string function = take(file_.read_string(group, "function"));
        const Row* row = find_row(function);
        if (row == nullptr) throw Broken(function + " is no function of the standard");
        const std::string provenance = take(file_.read_string(group, "provenance"));
        Golden golden{name, provenance.ends_with("rounded"), Call(*row), {}, {}};
        const json args = json::parse(take(file_.read_string(group, "args")));
        for (const auto& [word, value] : args.items()) {
            if (row->find(word) < 0) throw Broken(function + " has no argument " + word);
        }
        for (size_t i = 0; i < row->num_args; ++i) read_arg(group, args, i, golden);
        for (const char* side : {"/in", "/out"}) {
            for (const std::string& word : file_.children(group + side)) {
                if (row->find(word) < 0) throw Broken(function + " has no argument " + word);
            }
        }
        return golden;
    }

 private:
    void read_arg(const std::string& group, const json& args, size_t i, Golden& golden) const {
        const Arg& arg = golden.call.row->args()[i];
        const std::string word(arg.name);
        const bool is_input = file_.has(group + "/in/" + word);
        const bool is_result = file_.has(group + "/out/" + word);
        if (is_input) {
            golden.call.args[i] = read_input(group + "/in", word, arg);
        } else if (args.contains(word)) {
            golden.call.args[i] = boxed(arg, args[word]);
        } else if (!is_result || !arg.is_output) {
            throw Broken("argument " + word + " has no value");
        }
        if (is_result) read_result(group + "/out", word, i, golden);
        else if (arg.is_output && !args.contains(word)) throw Broken("output " + word + " has no value");
    }

    [[nodiscard]] Value read_input(const std::string& group, const std::string& word, const Arg& arg) const {
        if (arg.is_tensor()) return read_laid_out(group, word);
        TensorList list;
        const std::vector<std::string> items = file_.children(group + "/" + word);
        for (size_t k = 0; k < items.size(); ++k) list.push_back(read_laid_out(group + "/" + word, std::to_string(k)));
        return list;
    }

    void read_result(const std::string& group, const std::string& word, size_t i, Golden& golden) const {
        const Arg& arg = golden.call.row->args()[i];
        if (!arg.is_tensor() || !(arg.is_output || arg.is_inout)) throw Broken(word + " is no output tensor");
        const TensorPtr tensor = take(file_.read_tensor(group, word));
        if (arg.is_output) golden.outputs.push_back({i, {tensor->shape, tensor->dtype, {}}});
        if (!file_.has_attribute(group + "/" + word, "unspecified")) golden.wanted.push_back({i, tensor});
    }

    [[nodiscard]] TensorPtr read_laid_out(const std::string& group, const std::string& word) const {
        const TensorPtr packed = take(file_.read_tensor(group, word));
        const std::string object = group + "/" + word;
        if (!file_.has_attribute(object, "strides")) return packed;
        Shape strides(packed->shape.size());
        const hdf5::Session session;
        const hdf5::Handle attribute(
            H5Aopen_by_name(handle_.get(), object.c_str(), "strides", H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle space(H5Aget_space(attribute.get()));
        if (H5Sget_simple_extent_npoints(space.get()) != packed->rank() ||
            H5Aread(attribute.get(), H5T_NATIVE_INT64, strides.data()) < 0) {
            throw Broken(object + " has strides of another rank");
        }
        TensorPtr tensor = take(make_tensor(cpu_device(), {packed->shape, packed->dtype, strides}));
        copy_strided(*packed, *tensor);
        return tensor;
    }

    Hdf5File file_;
    hdf5::Handle handle_;
};

// ---- running ----

/// The call with copies of its in-out arguments, and outputs full of a pattern that shows what is left unwritten.
Call placed(const Golden& golden) {
    Call call = golden.call;
    for (size_t i = 0; i < call.args.size(); ++i) {
        auto* tensor = std::get_if<TensorPtr>(&call.args[i]);
        if (call.row->args()[i].is_inout && tensor != nullptr) *tensor = take(to_device(cpu_device(), nullptr, **tensor));
    }
    for (const OutputSpec& output : golden.outputs) {
        TensorPtr tensor = take(make_tensor(cpu_device(), output.spec));
        const int pattern = output.spec.dtype == Dtype::boolean ? 0x01 : 0xff;
        if (tensor->storage.nbytes > 0) std::memset(tensor->storage.memory.get(), pattern, tensor->storage.nbytes);
        call.args[output.arg] = tensor;
    }
    return call;
}

Call run_on(const Backend& backend, const Golden& golden) {
    Call call = placed(golden);
    if (const Status status = validate(call); !status.ok()) throw Broken(status.message());
    Context context(backend.device());
    const Outcome outcome = Chain(backend).run(call, context);
    if (!outcome.ok()) throw Broken(outcome.message);
    return call;
}

// ---- comparing ----

/// What a floating output may differ from PyTorch's by: ulps * ulp(wanted) + sums * S + atol + rtol * |wanted|.
struct Allowance {
    double ulps = 0;
    double sums = 0;
    double atol = 0;
    double rtol = 0;
};

Allowance allowance(const Call& call, const OutputSpec& output) {
    const Dtype dtype = component_of(output.spec.dtype);
    const double unit = dtype == Dtype::float64 ? 0x1p-53 : 0x1p-24;
    switch (call.row->accuracy) {
        case AccuracyClass::A: return {};
        case AccuracyClass::B:
        case AccuracyClass::C: return {1, 0, 0, 0};
        case AccuracyClass::D: return {1, 2 * static_cast<double>(accumulation_length(call, output)) * unit, 0, 0};
        case AccuracyClass::E:
        case AccuracyClass::F: return {4, 0, 0, 0};
    }
    return {};
}

TensorPtr in_wide(const Tensor& tensor) {
    TensorPtr wide = take(make_tensor(cpu_device(), {tensor.shape, wide_dtype(tensor.dtype), {}}));
    widen(tensor, *wide);
    return wide;
}

/// A result of the oracle as the output's dtype would hold it.
TensorPtr in_dtype(const Tensor& wide, Dtype dtype) {
    TensorPtr tensor = take(make_tensor(cpu_device(), {wide.shape, dtype, {}}));
    narrow(wide, *tensor);
    return tensor;
}

/// Share of the allowance that a value takes; above 1 is wrong.
double share_taken(double actual, double wanted, double allowed, const Format& format) {
    if (std::isnan(wanted)) return std::isnan(actual) ? 0 : HUGE_VAL;
    if (std::isinf(wanted)) return actual * wanted > 0 && std::fabs(actual) >= format.overflow ? 0 : HUGE_VAL;
    if (actual == wanted) return 0;
    const double share = std::fabs(actual - wanted) / allowed;
    return std::isnan(share) ? HUGE_VAL : share;
}

/// Compares `actual`, of the output's dtype or of its wide dtype, with PyTorch's `wanted`; empty when it is right.
/// Integers are bitwise in every class. Of a complex number the modulus has the ulp: its parts are differences.
std::string complaint(const Tensor& actual, const Tensor& wanted, const Allowance& allowance, const Tensor* sums) {
    const TensorPtr values = in_wide(actual), expected = in_wide(wanted);
    if (values->shape != expected->shape || values->dtype != expected->dtype) return "another shape or kind of dtype";
    const Format format = format_of(component_of(wanted.dtype));
    double worst = 0;
    int64_t at = 0, count = 0;
    const auto see = [&](double share, int64_t i) {
        count += share > 1;
        if (share > worst) worst = share, at = i;
    };
    for (int64_t i = 0; i < expected->numel(); ++i) {
        const auto allowed = [&](double size) {
            return allowance.ulps * ulp_of(size, format) + allowance.atol + allowance.rtol * size +
                   (sums != nullptr ? allowance.sums * sums->data_as<double>()[i] : 0);
        };
        if (expected->dtype == Dtype::float64) {
            const double x = values->data_as<double>()[i], y = expected->data_as<double>()[i];
            see(share_taken(x, y, allowed(std::fabs(y)), format), i);
        } else if (expected->dtype == Dtype::complex128) {
            const auto x = values->data_as<std::complex<double>>()[i], y = expected->data_as<std::complex<double>>()[i];
            see(share_taken(x.real(), y.real(), allowed(std::abs(y)), format), i);
            see(share_taken(x.imag(), y.imag(), allowed(std::abs(y)), format), i);
        } else if (expected->dtype == Dtype::boolean) {
            see(values->data_as<uint8_t>()[i] == expected->data_as<uint8_t>()[i] ? 0 : HUGE_VAL, i);
        } else {
            see(values->data_as<int64_t>()[i] == expected->data_as<int64_t>()[i] ? 0 : HUGE_VAL, i);
        }
    }
    if (const char* f = getenv("TUNE"); f && worst > 0) { std::fprintf(stderr, "TUNE %g ", worst); }
    if (count == 0) return {};
    return fmt::format("{} of {} elements are wrong, the worst at {}: got {}, PyTorch has {} ({:.3g} times the allowance)",
                       count, expected->numel(), to_string(unravel(at, expected->shape)), print_element(*values, at),
                       print_element(*expected, at), worst);
}

// ---- a file ----

class Complaints {
 public:
    void add(const Golden& golden, std::string_view path, std::string_view what) {
        lines_.push_back(fmt::format("{}, {}: {}", golden.name, path, what));
    }
    void add(const std::string& name, std::string_view what) { lines_.push_back(fmt::format("{}: {}", name, what)); }
    /// Fails with the first of them, so that one wrong kernel does not bury the rest.
    void report() const {
        constexpr size_t kShown = 25;
        for (size_t i = 0; i < std::min(lines_.size(), kShown); ++i) FAIL_CHECK(lines_[i]);
        if (lines_.size() > kShown) FAIL_CHECK(fmt::format("and {} more", lines_.size() - kShown));
    }

 private:
    std::vector<std::string> lines_;
};

/// One path's results, by argument.
using Results = std::function<TensorPtr(size_t)>;

void compare(const Golden& golden, std::string_view path, const Results& results,
             const std::map<size_t, Allowance>& allowances, const std::map<size_t, TensorPtr>& sums,
             Complaints& complaints) {
    for (const Wanted& wanted : golden.wanted) {
        const auto sum = sums.find(wanted.arg);
        const std::string wrong = complaint(*results(wanted.arg), *wanted.tensor, allowances.at(wanted.arg),
                                            sum == sums.end() ? nullptr : sum->second.get());
        const std::string_view output = golden.call.row->args()[wanted.arg].name;
        if (getenv("TUNE")) std::fprintf(stderr, " %s %s %s\n", golden.name.c_str(), std::string(path).c_str(), std::string(output).c_str());
        if (!wrong.empty()) complaints.add(golden, path, fmt::format("{}: {}", output, wrong));
    }
}

void check_call(const Golden& golden, Complaints& complaints) {
    std::map<size_t, Allowance> allowances;
    std::map<size_t, TensorPtr> sums;
    const auto kept = [&](const std::vector<Expected>& tensors) {
        std::map<size_t, TensorPtr> by_arg;
        for (const Expected& expected : tensors) by_arg[expected.arg] = expected.tensor;
        return by_arg;
    };
    Oracle oracle;
    std::map<size_t, TensorPtr> exact;
    try {
        for (const Wanted& wanted : golden.wanted) {
            allowances[wanted.arg] = allowance(golden.call, {wanted.arg, {wanted.tensor->shape, wanted.tensor->dtype, {}}});
        }
        exact = kept(take(oracle.run(golden.call, golden.outputs)));
        if (golden.call.row->accuracy == AccuracyClass::D) sums = kept(take(oracle.magnitudes(golden.call, golden.outputs)));
        const bool is_exact = golden.call.row->accuracy == AccuracyClass::A;
        const auto answer = [&](size_t arg) {
            const TensorPtr& wide = exact.at(arg);
            const auto wanted = std::find_if(golden.wanted.begin(), golden.wanted.end(), [&](const Wanted& w) { return w.arg == arg; });
            const Dtype dtype = wanted->tensor->dtype;
            const bool rounds = is_floating(dtype) || is_complex(dtype);
            return is_exact || !rounds ? in_dtype(*wide, dtype) : wide;
        };
        compare(golden, "oracle", answer, allowances, sums, complaints);
    } catch (const std::exception& broken) {
        complaints.add(golden, "oracle", broken.what());
    }
    for (const char* name : {"reference", "cpu"}) {
        try {
            const Call done = run_on(*take(find_backend(name)), golden);
            compare(golden, name, [&](size_t arg) { return std::get<TensorPtr>(done.args[arg]); }, allowances, sums, complaints);
        } catch (const std::exception& broken) {
            complaints.add(golden, name, broken.what());
        }
    }
}

std::string folder() { return std::string(DIOPI_SOURCE_DIR) + "/data/golden"; }

void check_file(const std::string& op) {
    const GoldenFile file(folder() + "/" + op + ".h5");
    Complaints complaints;
    std::set<std::string_view> covered;
    for (const std::string& name : file.names()) {
        try {
            const Golden golden = file.read(name);
            covered.insert(golden.call.row->function);
            check_call(golden, complaints);
        } catch (const std::exception& broken) {
            complaints.add(name, broken.what());
        }
    }
    for (const Row* row : rows_of(op)) {
        if (!covered.contains(row->function)) complaints.add(std::string(row->function), "no golden call");
    }
    complaints.report();
}

const std::set<std::string> kFiles = {
    "adaptive_avg_pool2d", "add",  "argmax",      "batch_norm",  "cat",        "conv2d", "cross_entropy", "div",
    "fill_",               "flip", "linear",      "log_softmax", "max_pool2d", "mean",   "mul",           "nll_loss",
    "nll_loss_v2",         "relu", "sgd",         "softmax",     "sub",        "sum"};

}  // namespace

TEST_CASE("tune") { for (const auto& f : kFiles) { check_file(f); } }
}  // namespace diopi
