// The calls in data/golden, computed once by PyTorch (scripts/make_golden.py describes the files), on every path that
// computes values: the reference in the calls' own dtypes, the float64 oracle, and the cpu backend.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "call/chain.hpp"
#include "call/invoke.hpp"
#include "call/tensors.hpp"
#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "core/strided.hpp"
#include "file/hdf5_file.hpp"
#include "file/hdf5_types.hpp"
#include "step/oracle.hpp"

namespace diopi {
namespace {

using nlohmann::json;

/// The error of a call that cannot be built, or that a path refuses: it is reported like a wrong value, never skipped.
struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
};

template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw Broken(result.error().message);
    return std::move(*result);
}

/// One recorded call: host inputs, outputs without memory, and PyTorch's results.
struct Golden {
    std::string name;
    /// Whether PyTorch computed it in float64, rounded once, because its 16-bit kernel is missing or worse.
    bool is_rounded = false;
    Call call;
    std::vector<OutputSpec> outputs;
    std::vector<ArgTensor> wanted;  ///< outputs and in-out arguments whose values the standard specifies
};

// ---- reading ----

Scalar boxed_scalar(const json& number) {
    if (number.is_boolean()) return Scalar::of(number.get<bool>());
    if (number.is_number_integer()) return Scalar::of(number.get<int64_t>());
    return Scalar::of(number.is_string() ? std::stod(number.get<std::string>()) : number.get<double>());
}

int64_t boxed_enum(const std::string& word) {
    static_assert(static_cast<int>(ReductionNone) == static_cast<int>(RoundModeNone));
    static const std::map<std::string, int64_t> values = {{"none", ReductionNone},
                                                          {"mean", ReductionMean},
                                                          {"sum", ReductionSum},
                                                          {"trunc", RoundModeTrunc},
                                                          {"contiguous", diopiMemoryFormat_Contiguous},
                                                          {"channels_last", diopiMemoryFormat_ChannelsLast},
                                                          {"floor", RoundModeFloor}};
    const auto found = values.find(word);
    if (found == values.end()) throw Broken("'" + word + "' is no value of an enumeration");
    return found->second;
}

Value boxed(const Arg& arg, const json& value) {
    if (value.is_null()) return {};
    switch (arg.kind) {
        case ArgKind::scalar:
            return boxed_scalar(value.at("scalar"));
        case ArgKind::int_list:
        case ArgKind::int_list_ptr:
            return value.get<IntList>();
        case ArgKind::memory_format:
        case ArgKind::reduction:
        case ArgKind::round_mode:
            return boxed_enum(value.get<std::string>());
        case ArgKind::int64:
        case ArgKind::int32:
        case ArgKind::int64_ptr:
            return value.get<int64_t>();
        case ArgKind::float32:
        case ArgKind::float64:
        case ArgKind::float64_ptr:
            return value.get<double>();
        case ArgKind::boolean:
        case ArgKind::boolean_ptr:
            return value.get<bool>();
        case ArgKind::text:
            return value.get<std::string>();
        case ArgKind::tensor:
        case ArgKind::const_tensor:
        case ArgKind::tensors:
        case ArgKind::const_tensors:
        case ArgKind::generator:
        case ArgKind::generators:
        case ArgKind::pointer:
            break;
    }
    throw Broken(fmt::format("a {} is not possible in `args`", name(arg.kind)));
}

/// A golden file. Hdf5File reads no lists from attributes, so the strides are read beside it.
class GoldenFile {
 public:
    explicit GoldenFile(const std::string& path) : file_(take(Hdf5File::open(path))) {
        // HDF5 opens an open file again only with the same access.
        const hdf5::Session session;
        const hdf5::Handle access(H5Pcreate(H5P_FILE_ACCESS));
        H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
        H5Pset_file_locking(access.get(), false, true);
        handle_ = hdf5::Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
    }

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
        if (is_result)
            read_result(group + "/out", word, i, golden);
        else if (arg.is_output && !args.contains(word))
            throw Broken("output " + word + " has no value");
    }

    [[nodiscard]] Value read_input(const std::string& group, const std::string& word, const Arg& arg) const {
        if (arg.is_tensor()) return read_laid_out(group, word);
        TensorList list;
        const std::vector<std::string> items = file_.children(group + "/" + word);
        // An element that is not there is null.
        for (const std::string& item : items) list.resize(std::max(list.size(), std::stoul(item) + 1));
        for (const std::string& item : items) list[std::stoul(item)] = read_laid_out(group + "/" + word, item);
        return list;
    }

    void read_result(const std::string& group, const std::string& word, size_t i, Golden& golden) const {
        const Arg& arg = golden.call.row->args()[i];
        if (!arg.is_output && !arg.is_inout && !arg.gives_number) throw Broken(word + " is no output tensor");
        if (arg.is_tensor() || arg.is_made || arg.gives_number) return read_one_result(group, word, {i}, golden);
        for (size_t k = 0; k < file_.children(group + "/" + word).size(); ++k) {
            read_one_result(group + "/" + word, std::to_string(k), {i, k}, golden);
        }
    }

    void read_one_result(const std::string& group, const std::string& word, ArgPlace place, Golden& golden) const {
        const TensorPtr tensor = take(file_.read_tensor(group, word));
        const bool is_output = golden.call.row->args()[place.arg].is_output;
        if (is_output) golden.outputs.push_back({place.arg, {tensor->shape, tensor->dtype, {}}, true, place.position});
        if (!file_.has_attribute(group + "/" + word, "unspecified")) {
            golden.wanted.push_back({place.arg, tensor, place.position});
        }
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

/// The call with copies of its in-out arguments, and outputs full of a pattern that shows unwritten elements.
Call placed(const Golden& golden) {
    Call call = golden.call;
    for_each_tensor(call, [](const Place& place, TensorPtr& tensor) {
        if (place.arg.is_inout) tensor = take(to_device(cpu_device(), nullptr, *tensor));
    });
    for (const OutputSpec& output : golden.outputs) {
        TensorPtr tensor = take(make_tensor(cpu_device(), output.spec));
        const int pattern = output.spec.dtype == Dtype::boolean ? 0x01 : 0xff;
        if (tensor->storage.nbytes > 0) std::memset(tensor->storage.memory.get(), pattern, tensor->storage.nbytes);
        call.set_tensor(output.place(), call.row->args()[output.arg].is_made ? nullptr : tensor);
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

/// The allowed difference of a floating output from PyTorch's: ulps * ulp of the larger one + sums * S + absolute.
struct Allowance {
    double ulps = 0;
    double sums = 0;
    double absolute = 0;
};

/// PyTorch's results have rounding errors, too: an output may differ by PyTorch's own error.
///   A  0: equal bits, the sign of zero included.
///   B  1 ulp; 2 if PyTorch rounds before its last operation: complex products, integers that become float32.
///   C  the same for float16 and bfloat16; else the bound of the function's class, and 1 ulp more.
///   D  the bound of the class, because PyTorch accumulates in float32 (float64) in its own order.
///   E  float16, bfloat16: 1 ulp of float64 results that were rounded once, 2 of PyTorch's own, since make_golden.py
///      keeps none that is further than one from those. float32, float64: 4 ulp, and 16 roundings of a number of size
///      one, as the inputs are of that size: softmax, batch_norm and sgd subtract such numbers, and what is left of
///      them has no more correct digits in PyTorch either.
Allowance allowance(const Golden& golden, const OutputSpec& output) {
    const Call& call = golden.call;
    const Dtype dtype = component_of(output.spec.dtype);
    const double roundoff = dtype == Dtype::float64 ? 0x1p-53 : 0x1p-24;
    switch (call.row->accuracy) {
        case AccuracyClass::A:
            return {};
        case AccuracyClass::C:
            if (!is_half(dtype)) return {call.row->max_ulp + 1, 0, 0};
            [[fallthrough]];
        case AccuracyClass::B: {
            const Tensor* input = call.tensor("input");
            const bool rounds_before = is_complex(output.spec.dtype) || (input != nullptr && is_integer(input->dtype));
            return {rounds_before ? 2.0 : 1.0, 0, 0};
        }
        case AccuracyClass::D:
            return {1, 2 * static_cast<double>(accumulation_length(call, output)) * roundoff, 0};
        case AccuracyClass::E:
        case AccuracyClass::F:
            return is_half(dtype) ? Allowance{golden.is_rounded ? 1.0 : 2.0, 0, 0} : Allowance{4, 0, 16 * roundoff};
    }
    return {};
}

TensorPtr in_wide(const Tensor& tensor) {
    TensorPtr wide = take(make_tensor(cpu_device(), {tensor.shape, wide_dtype(tensor.dtype), {}}));
    widen(tensor, *wide);
    return wide;
}

/// A result of the oracle rounded to the output's dtype.
TensorPtr in_dtype(const Tensor& wide, Dtype dtype) {
    TensorPtr tensor = take(make_tensor(cpu_device(), {wide.shape, dtype, {}}));
    narrow(wide, *tensor);
    return tensor;
}

/// The difference of a value as a share of its allowance; above 1 it is wrong.
double share_of_allowance(double actual, double wanted, double allowed, const Format& format) {
    if (std::isnan(wanted)) return std::isnan(actual) ? 0 : HUGE_VAL;
    if (std::isinf(wanted)) return actual * wanted > 0 && std::fabs(actual) >= format.overflow ? 0 : HUGE_VAL;
    if (actual == wanted) return allowed == 0 && std::signbit(actual) != std::signbit(wanted) ? HUGE_VAL : 0;
    const double share = std::fabs(actual - wanted) / allowed;
    return std::isnan(share) ? HUGE_VAL : share;
}

/// Compares one output with PyTorch's.
class OutputCheck {
 public:
    /// `actual` has the output's dtype or its wide dtype; `sums` has S per element for class D, and is null for others.
    OutputCheck(const Tensor& actual, const Tensor& wanted, const Allowance& allowance, const Tensor* sums)
        : actual_(in_wide(actual)),
          wanted_(in_wide(wanted)),
          allowance_(allowance),
          sums_(sums),
          format_(format_of(component_of(wanted.dtype))) {}

    /// The error message with the worst element; empty without an error.
    [[nodiscard]] std::string complaint() const {
        if (actual_->shape != wanted_->shape || actual_->dtype != wanted_->dtype)
            return "another shape or kind of dtype";
        double worst = 0;
        int64_t at = 0, wrong = 0;
        for (int64_t i = 0; i < wanted_->numel(); ++i) {
            const double share = share_of(i);
            wrong += share > 1;
            if (share > worst) worst = share, at = i;
        }
        if (wrong == 0) return {};
        return fmt::format(
            "{} of {} elements are wrong, the worst at {}: got {}, PyTorch has {} ({:.3g} times the "
            "allowance)",
            wrong, wanted_->numel(), to_string(unravel(at, wanted_->shape)), print_element(*actual_, at),
            print_element(*wanted_, at), worst);
    }

 private:
    [[nodiscard]] double allowed(double size, int64_t i) const {
        const double sum = sums_ != nullptr ? allowance_.sums * sums_->data_as<double>()[i] : 0;
        return allowance_.ulps * ulp_of(size, format_) + sum + allowance_.absolute;
    }

    /// Integers must be equal in every class. The ulp of a complex number is that of its modulus, as its parts are
    /// differences.
    [[nodiscard]] double share_of(int64_t i) const {
        if (wanted_->dtype == Dtype::float64) {
            const double x = actual_->data_as<double>()[i], y = wanted_->data_as<double>()[i];
            return share_of_allowance(x, y, allowed(std::max(std::fabs(y), std::fabs(x)), i), format_);
        }
        if (wanted_->dtype == Dtype::complex128) {
            const auto x = actual_->data_as<std::complex<double>>()[i], y = wanted_->data_as<std::complex<double>>()[i];
            const double size = allowed(std::max(std::abs(y), std::abs(x)), i);
            return std::max(share_of_allowance(x.real(), y.real(), size, format_),
                            share_of_allowance(x.imag(), y.imag(), size, format_));
        }
        const size_t size = size_of(wanted_->dtype);
        const auto bytes = [&](const Tensor& tensor) { return tensor.data_as<char>() + static_cast<size_t>(i) * size; };
        return std::memcmp(bytes(*actual_), bytes(*wanted_), size) == 0 ? 0 : HUGE_VAL;
    }

    TensorPtr actual_, wanted_;
    Allowance allowance_;
    const Tensor* sums_;
    Format format_;
};

// ---- a file ----

/// The errors in a file's calls.
class Complaints {
 public:
    void add(std::string line) { lines_.push_back(std::move(line)); }
    /// Fails with the first errors only, so that one wrong kernel does not hide the others.
    void report() const {
        constexpr size_t kShown = 25;
        for (size_t i = 0; i < std::min(lines_.size(), kShown); ++i) FAIL_CHECK(lines_[i]);
        if (lines_.size() > kShown) FAIL_CHECK(fmt::format("and {} more", lines_.size() - kShown));
        CHECK(lines_.empty());
    }

 private:
    std::vector<std::string> lines_;
};

using TensorMap = std::map<std::pair<size_t, size_t>, TensorPtr>;  // keys: places of results

std::pair<size_t, size_t> key_of(const ArgTensor& result) { return {result.arg, result.position}; }

TensorMap by_argument(const std::vector<ArgTensor>& tensors) {
    TensorMap map;
    for (const ArgTensor& expected : tensors) map[key_of(expected)] = expected.tensor;
    return map;
}

/// Checks one call on every path.
class CallCheck {
 public:
    CallCheck(const Golden& golden, Complaints& complaints) : golden_(golden), complaints_(complaints) {}

    void run() {
        attempt("oracle", [&] { return oracle_results(); });
        for (const char* backend : {"reference", "cpu"}) {
            attempt(backend, [&] {
                const Call call = run_on(*take(find_backend(backend)), golden_);
                TensorMap results;
                for (const ArgTensor& wanted : golden_.wanted) {
                    const auto number = given_number(call, wanted.arg);
                    const TensorPtr result =
                        number ? std::make_shared<Tensor>(*number) : call.tensor_at(wanted.place());
                    if (result == nullptr) throw Broken("the call made no tensor");
                    results[key_of(wanted)] = result;
                }
                return results;
            });
        }
    }

 private:
    [[nodiscard]] AccuracyClass accuracy() const { return golden_.call.row->accuracy; }

    static OutputSpec spec_of(const ArgTensor& wanted) {
        return {wanted.arg, {wanted.tensor->shape, wanted.tensor->dtype, {}}, true, wanted.position};
    }

    /// Compares in the wide dtype, or, if bits must be equal, in the output's dtype.
    TensorMap oracle_results() {
        Oracle oracle;
        if (accuracy() == AccuracyClass::D) {
            for (const ArgTensor& wanted : golden_.wanted) {
                const OutputSpec output = spec_of(wanted);
                sums_[key_of(wanted)] = take(oracle.magnitude(golden_.call, output, Oracle::Terms::kAll));
            }
        }
        TensorMap results = by_argument(take(oracle.run(golden_.call, golden_.outputs)));
        for (const ArgTensor& wanted : golden_.wanted) {
            const Dtype dtype = wanted.tensor->dtype;
            const bool tolerant = is_floating(dtype) || is_complex(dtype);
            TensorPtr& tensor = results.at(key_of(wanted));
            if (accuracy() == AccuracyClass::A || !tolerant) tensor = in_dtype(*tensor, dtype);
        }
        return results;
    }

    template <class Run>
    void attempt(std::string_view path, const Run& run) {
        try {
            const TensorMap results = run();
            for (const ArgTensor& wanted : golden_.wanted) judge(path, wanted, *results.at(key_of(wanted)));
        } catch (const std::exception& broken) {
            complaints_.add(fmt::format("{} on {}: {}", golden_.name, path, broken.what()));
        }
    }

    void judge(std::string_view path, const ArgTensor& wanted, const Tensor& actual) {
        const OutputSpec spec = spec_of(wanted);
        const Tensor* sums = accuracy() == AccuracyClass::D ? sums_.at(key_of(wanted)).get() : nullptr;
        const std::string wrong = OutputCheck(actual, *wanted.tensor, allowance(golden_, spec), sums).complaint();
        if (wrong.empty()) return;
        const std::string output = golden_.call.name_of(wanted.place());
        complaints_.add(fmt::format("{} on {}: {}: {}", golden_.name, path, output, wrong));
    }

    const Golden& golden_;
    Complaints& complaints_;
    TensorMap sums_;
};

const std::string kFolder = std::string(DIOPI_SOURCE_DIR) + "/data/golden/";

/// Checks every call of a file, and that every function of the operator has one.
void check_file(const std::string& op) {
    const GoldenFile file(kFolder + op + ".h5");
    Complaints complaints;
    std::set<std::string_view> covered;
    for (const std::string& name : file.names()) {
        try {
            const Golden golden = file.read(name);
            covered.insert(golden.call.row->function);
            CallCheck(golden, complaints).run();
        } catch (const std::exception& broken) {
            complaints.add(fmt::format("{} cannot be built: {}", name, broken.what()));
        }
    }
    for (const Row* row : rows_of(op)) {
        if (!covered.contains(row->function)) complaints.add(fmt::format("{} has no golden call", row->function));
    }
    complaints.report();
}

/// The operators that have a file.
std::set<std::string> recorded() {
    std::set<std::string> ops;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
        if (entry.path().extension() == ".h5") ops.insert(entry.path().stem().string());
    }
    return ops;
}

}  // namespace

TEST_CASE("every call gives what PyTorch gave") {
    for (const std::string& op : recorded()) {
        DYNAMIC_SECTION(op) { check_file(op); }
    }
}

TEST_CASE("every operator except the random ones has results of PyTorch") {
    const std::set<std::string> ops = recorded();
    for (const Row& row : rows()) {
        if (!reference_backend().implements(row) || row.accuracy == AccuracyClass::F) continue;
        if (row.variant == Variant::utility) continue;  // PyTorch has none of them
        INFO(row.function);
        CHECK(ops.contains(std::string(row.op)));
    }
}

}  // namespace diopi
