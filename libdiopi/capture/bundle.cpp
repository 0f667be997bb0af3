#include "capture/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "capture/capture_json.hpp"
#include "capture/outputs_json.hpp"
#include "core/convert.hpp"
#include "file/hdf5_file.hpp"

namespace diopi {

namespace {

/// Version of the layout of bundles; the root attribute `diopi_bundle`.
constexpr int64_t kBundleFormat = 2;

constexpr const char* kCall = "/call";
constexpr const char* kExpected = "/expected";
constexpr const char* kActual = "/actual";
constexpr const char* kOrigin = "/origin";
constexpr const char* kEnvironment = "/origin/environment";

struct BundleText {
    const char* name;
    std::string Bundle::*member;
};
constexpr BundleText kBundleTexts[] = {{"case", &Bundle::case_id},      {"step", &Bundle::step},
                                       {"function", &Bundle::function}, {"reason", &Bundle::reason},
                                       {"repeat", &Bundle::repeat},     {"checks", &Bundle::checks}};

struct FlagMember {
    const char* name;
    bool Bundle::*member;
};
constexpr FlagMember kFlags[] = {{"random", &Bundle::random}, {"legacy", &Bundle::legacy}, {"exact", &Bundle::exact}};

struct OriginMember {
    const char* name;
    std::string BundleOrigin::*member;
};
constexpr OriginMember kOrigins[] = {{"backend", &BundleOrigin::backend},
                                     {"library", &BundleOrigin::file},
                                     {"library_hash", &BundleOrigin::file_hash},
                                     {"version", &BundleOrigin::version}};

struct ToleranceMember {
    const char* name;
    double Tolerance::*member;
};
constexpr ToleranceMember kTolerances[] = {{"atol", &Tolerance::atol},
                                           {"rtol", &Tolerance::rtol},
                                           {"mismatch_ratio", &Tolerance::mismatch_ratio},
                                           {"max_ulp", &Tolerance::max_ulp}};

constexpr std::array kInstead = {std::pair{"accuracy class", Tolerance::Instead::kNothing},
                                 std::pair{"tolerance", Tolerance::Instead::kTolerance},
                                 std::pair{"ulp", Tolerance::Instead::kUlp}};

constexpr std::array kBundleVerdicts = {Verdict::kFailed, Verdict::kCrashed, Verdict::kTimeout};
constexpr std::array<std::string_view, 3> kBundleSteps = {"forward", "inplace", "backward"};

/// Writes attributes and tensors until the first error.
class BundleWriter {
 public:
    explicit BundleWriter(Hdf5File& file) : file_(file) {}

    template <class T>
    void attribute(const std::string& object, const std::string& name, const T& value) {
        if (status_.ok()) status_ = file_.write_attribute(object, name, value);
    }
    void group(const std::string& path) {
        if (status_.ok()) status_ = file_.create_group(path);
    }
    void call(const Call& call) {
        if (status_.ok()) status_ = write_call(file_, kCall, call);
    }
    void tensors(const std::string& group, const Row& row, const std::vector<ArgTensor>& tensors) {
        for (const ArgTensor& each : tensors) {
            if (status_.ok()) status_ = file_.write_tensor(group, Call(row).name_of(each.place()), *each.tensor);
        }
    }
    [[nodiscard]] const Status& status() const { return status_; }

 private:
    Hdf5File& file_;
    Status status_;
};

void write_judgement(BundleWriter& writer, const Bundle& bundle) {
    writer.attribute("/", "verdict", std::string_view(name(bundle.verdict)));
    for (const auto& [name, member] : kFlags) writer.attribute("/", name, int64_t{bundle.*member});
    for (const auto& [name, member] : kTolerances) writer.attribute("/", name, bundle.tolerance.*member);
    writer.attribute("/", "tolerance_stated", int64_t{bundle.tolerance.stated});
    for (const auto& [word, instead] : kInstead) {
        if (instead == bundle.tolerance.instead) writer.attribute("/", "held_to", std::string_view(word));
    }
}

/// Reads until the first error.
class BundleReader {
 public:
    explicit BundleReader(const Hdf5File& file) : file_(file) {}

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    void take(const std::string& object, const char* name, std::string& value) {
        keep(error_ ? Result<std::string>(*error_) : file_.read_string(object, name), value);
    }
    void take(const std::string& object, const char* name, int64_t& value) {
        keep(error_ ? Result<int64_t>(*error_) : file_.read_int(object, name), value);
    }
    void take(const std::string& object, const char* name, double& value) {
        keep(error_ ? Result<double>(*error_) : file_.read_double(object, name), value);
    }
    void take(const char* name, bool& value) {
        int64_t number = 0;
        take("/", name, number);
        value = number != 0;
        if (number != 0 && number != 1) refuse(fmt::format("attribute `{}` is {}, not 0 or 1", name, number));
    }
    void tensors(const std::string& group, const Row& row, std::vector<ArgTensor>& tensors) {
        for (const std::string& name : file_.children(group)) {
            if (error_) return;
            const auto place = Call(row).place_of(name);
            if (!place || !(row.args()[place->arg].is_tensor() || row.args()[place->arg].is_tensor_list())) {
                return refuse(fmt::format("{} has no tensor '{}', which {} holds", row.function, name, group));
            }
            auto tensor = file_.read_tensor(group, name);
            if (!tensor.ok()) {
                error_ = tensor.error();
                return;
            }
            tensors.push_back({place->arg, *tensor, place->position});
        }
    }
    void refuse(const std::string& what) {
        if (!error_) error_ = bad_input(file_.path() + ": " + what);
    }
    template <class T>
    void keep(Result<T> result, T& value) {
        if (result.ok()) {
            value = std::move(*result);
        } else if (!error_) {
            error_ = result.error();
        }
    }

 private:
    const Hdf5File& file_;
    std::optional<Error> error_;
};

void read_judgement(BundleReader& reader, Bundle& bundle) {
    std::string word;
    reader.take("/", "verdict", word);
    const auto verdict = std::ranges::find_if(kBundleVerdicts, [&](Verdict v) { return word == name(v); });
    if (verdict == kBundleVerdicts.end()) {
        reader.refuse(fmt::format("attribute `verdict` is '{}', not failed, crashed or timeout", word));
    } else {
        bundle.verdict = *verdict;
    }
    for (const auto& [name, member] : kFlags) reader.take(name, bundle.*member);
    for (const auto& [name, member] : kTolerances) reader.take("/", name, bundle.tolerance.*member);
    reader.take("tolerance_stated", bundle.tolerance.stated);
    reader.take("/", "held_to", word);
    const auto instead = std::ranges::find_if(kInstead, [&](const auto& row) { return word == row.first; });
    if (instead == kInstead.end()) {
        reader.refuse(fmt::format("attribute `held_to` is '{}', not accuracy class, tolerance or ulp", word));
    } else {
        bundle.tolerance.instead = instead->second;
    }
}

void read_tensors(BundleReader& reader, const Hdf5File& file, Bundle& bundle) {
    const Row& row = *bundle.stored.call.row;
    std::string outputs, layouts;
    reader.take(kCall, "outputs", outputs);
    reader.take(kCall, "layouts", layouts);
    if (reader.error()) return;
    reader.keep(outputs_from_json(outputs, file.path() + ": attribute `outputs` of /call", row), bundle.outputs);
    reader.keep(tensors_from_json(layouts, file.path() + ": attribute `layouts` of /call"), bundle.layouts);
    reader.tensors(kExpected, row, bundle.expected);
    reader.tensors(kActual, row, bundle.actual);
}

void read_origin(BundleReader& reader, const Hdf5File& file, BundleOrigin& origin) {
    for (const auto& [name, member] : kOrigins) reader.take(kOrigin, name, origin.*member);
    if (!file.has(kEnvironment)) return;
    for (const std::string& name : file.attributes(kEnvironment)) {
        reader.take(kEnvironment, name.c_str(), origin.environment.emplace_back(name, "").second);
    }
}

Status check_format(const Hdf5File& file) {
    if (!file.has_attribute("/", "diopi_bundle")) {
        return bad_input(file.path() +
                         " is no replay bundle: its root has no attribute `diopi_bundle`; diopi test "
                         "--save-failures DIR writes bundles");
    }
    const Result<int64_t> format = file.read_int("/", "diopi_bundle");
    if (!format.ok()) return format.status();
    if (*format == kBundleFormat) return {};
    const char* advice =
        *format > kBundleFormat ? "use a newer diopi" : "save it again with diopi test --save-failures";
    return bad_input(fmt::format("{} is a replay bundle of format {}, this program reads {}; {}", file.path(), *format,
                                 kBundleFormat, advice));
}

}  // namespace

std::string bundle_path(const std::string& folder, std::string_view case_id, std::string_view step) {
    std::string name(case_id);
    const auto is_odd = [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    };
    std::ranges::replace_if(name, is_odd, '-');
    return fmt::format("{}/{}-{}.h5", folder, name, step);
}

Status write_bundle(const std::string& path, const Bundle& bundle) {
    auto file = Hdf5File::create(path);
    if (!file.ok()) return file.status();
    const auto layouts = tensors_to_json(bundle.layouts);
    if (!layouts.ok()) return layouts.status();
    const Row& row = *bundle.stored.call.row;
    BundleWriter writer(*file);
    writer.attribute("/", "diopi_bundle", kBundleFormat);
    for (const auto& [name, member] : kBundleTexts) writer.attribute("/", name, std::string_view(bundle.*member));
    writer.attribute("/", "seed", static_cast<int64_t>(bundle.seed));
    write_judgement(writer, bundle);
    writer.call(bundle.stored.call);
    writer.attribute(kCall, "outputs", std::string_view(outputs_to_json(row, bundle.outputs)));
    writer.attribute(kCall, "layouts", std::string_view(*layouts));
    writer.tensors(kExpected, row, bundle.expected);
    writer.tensors(kActual, row, bundle.actual);
    writer.group(kEnvironment);
    for (const auto& [name, member] : kOrigins)
        writer.attribute(kOrigin, name, std::string_view(bundle.origin.*member));
    for (const auto& [name, value] : bundle.origin.environment) {
        writer.attribute(kEnvironment, name, std::string_view(value));
    }
    return writer.status().ok() ? file->finish() : writer.status();
}

Result<Bundle> read_bundle(const std::string& path) {
    auto file = Hdf5File::open(path);
    if (!file.ok()) return file.error();
    if (Status s = check_format(*file); !s.ok()) return s.error();
    auto stored = read_call(*file, kCall);
    if (!stored.ok()) return stored.error();
    Bundle bundle(std::move(*stored));
    BundleReader reader(*file);
    int64_t seed = 0;
    for (const auto& [name, member] : kBundleTexts) reader.take("/", name, bundle.*member);
    reader.take("/", "seed", seed);
    bundle.seed = static_cast<uint64_t>(seed);
    read_judgement(reader, bundle);
    read_tensors(reader, *file, bundle);
    read_origin(reader, *file, bundle.origin);
    if (!reader.error() && std::ranges::find(kBundleSteps, bundle.step) == kBundleSteps.end()) {
        reader.refuse(fmt::format("attribute `step` is '{}', not forward, inplace or backward", bundle.step));
    }
    if (reader.error()) return *reader.error();
    return bundle;
}

}  // namespace diopi
