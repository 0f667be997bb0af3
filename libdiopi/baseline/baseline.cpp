#include "baseline/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/convert.hpp"
#include "file/checksum.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr std::array<const char*, 3> kSteps = {"forward", "inplace", "backward"};
constexpr std::string_view kHashPrefix = "hash.";

/// Whether values stored as `stored` can represent an output of dtype `own` without a change.
bool can_stand_for(Dtype stored, Dtype own) {
    if (is_complex(own)) return is_complex(stored) || is_floating(stored);
    if (is_floating(own)) return is_floating(stored) || is_integer(stored);
    return is_integer(stored) || stored == Dtype::boolean;
}

/// The tensor in the oracle's dtype; a copy only if needed.
Result<TensorPtr> to_oracle(TensorPtr stored, Dtype own, const std::string& where) {
    const Dtype wanted = wide_dtype(own);
    if (stored->dtype == wanted) return stored;
    if (!can_stand_for(stored->dtype, own)) {
        return bad_input(
            fmt::format("{} is stored as {}, which cannot stand for an output of dtype {}; check its "
                        "attribute `dtype`",
                        where, name(stored->dtype), name(own)));
    }
    auto converted = make_tensor(cpu_device(), {stored->shape, wanted, {}});
    if (converted.ok()) widen(*stored, **converted);
    return converted;
}

Status check_key(const std::string& key) {
    if (!key.empty() && key != "." && key.find('/') == std::string::npos) return {};
    return bad_input(fmt::format("`{}` cannot name a case in a baseline: it may not be empty or contain `/`", key));
}

/// Reads attribute `dtype`; without one, the dtype in which the values are stored.
Result<Dtype> own_dtype(const Hdf5File& file, const std::string& object, Dtype stored) {
    if (!file.has_attribute(object, "dtype")) return stored;
    const Result<std::string> text = file.read_string(object, "dtype");
    if (!text.ok()) return text.error();
    if (const std::optional<Dtype> own = parse_dtype(*text)) return *own;
    return bad_input(
        fmt::format("{}: {} has dtype `{}`, which the standard does not know", file.path(), object, *text));
}

}  // namespace

std::string baseline_path(const std::string& data, const std::string& suite, const std::string& op) {
    return suite == "ops" ? fmt::format("{}/baselines/ops/{}.h5", data, op)
                          : fmt::format("{}/baselines/models/{}.h5", data, suite);
}

std::string case_key(std::string_view case_id) {
    const size_t slash = case_id.find('/');
    return std::string(slash == std::string_view::npos ? case_id : case_id.substr(slash + 1));
}

Status check_input(const CaseBaseline& baseline, const std::string& name, const Tensor& input) {
    for (const auto& [hashed, wanted] : baseline.input_hashes) {
        if (hashed != name) continue;
        const Result<std::string> hash = checksum_of_tensor(input);
        if (!hash.ok()) return hash.status();
        if (*hash == wanted) return {};
        return bad_input(
            fmt::format("input `{}` is not the one that the baseline was made from (checksum {}, wanted "
                        "{}); use the baseline's seed, or generate it again with diopi gen --force",
                        name, *hash, wanted));
    }
    return {};
}

Result<BaselineWriter> BaselineWriter::create(const std::string& path, uint64_t seed, const std::string& provenance) {
    auto file = Hdf5File::create(path);
    if (!file.ok()) return file.error();
    BaselineWriter writer(std::move(*file));
    if (Status s = writer.file_.write_attribute("/", "seed", static_cast<int64_t>(seed)); !s.ok()) return s.error();
    if (Status s = writer.file_.write_attribute("/", "generator", provenance); !s.ok()) return s.error();
    return writer;
}

Status BaselineWriter::add(const std::string& key, const CaseBaseline& baseline) {
    if (broken_) return failed(file_.path() + " could not be written; start it again");
    if (Status s = check_key(key); !s.ok()) return s;
    if (file_.has("/" + key)) return bad_input(fmt::format("case {} is added twice to {}", key, file_.path()));
    Status status = add_parts("/" + key, baseline);
    broken_ = !status.ok();
    if (status.ok()) ++cases_;
    return status;
}

Status BaselineWriter::add_parts(const std::string& group, const CaseBaseline& baseline) {
    const std::string inputs = group + "/inputs";
    if (Status s = file_.create_group(inputs); !s.ok()) return s;
    for (const auto& [name, hash] : baseline.input_hashes) {
        if (Status s = file_.write_attribute(inputs, std::string(kHashPrefix) + name, hash); !s.ok()) return s;
    }
    for (const NamedTensor& input : baseline.inputs) {
        if (Status s = file_.write_tensor(inputs, input.name, *input.tensor); !s.ok()) return s;
    }
    for (const auto& [step, outputs] : baseline.expected) {
        const std::string folder = group + "/" + step;
        for (const NamedTensor& output : outputs) {
            if (Status s = file_.write_tensor(folder, output.name, *output.tensor); !s.ok()) return s;
            if (Status s = file_.write_attribute(folder + "/" + output.name, "dtype", name(output.dtype)); !s.ok()) {
                return s;
            }
        }
    }
    return {};
}

Status BaselineWriter::finish() {
    if (broken_) return failed(file_.path() + " could not be written; start it again");
    return file_.finish();
}

Result<BaselineReader> BaselineReader::open(const std::string& path) {
    auto file = Hdf5File::open(path);
    if (!file.ok()) return file.error();
    BaselineReader reader(std::move(*file));
    reader.provenance_ = "unknown";
    if (reader.file_.has_attribute("/", "generator")) {
        const Result<std::string> text = reader.file_.read_string("/", "generator");
        if (!text.ok()) return text.error();
        reader.provenance_ = *text;
    }
    if (reader.file_.has_attribute("/", "seed")) {
        const Result<int64_t> seed = reader.file_.read_int("/", "seed");
        if (!seed.ok()) return seed.error();
        reader.seed_ = static_cast<uint64_t>(*seed);
    }
    return reader;
}

bool BaselineReader::has(const std::string& key) const { return check_key(key).ok() && file_.has("/" + key); }

std::vector<std::string> BaselineReader::keys() const { return file_.children("/"); }

Result<std::vector<NamedTensor>> BaselineReader::read_expected(const std::string& group) const {
    std::vector<NamedTensor> outputs;
    for (const std::string& output : file_.children(group)) {
        auto stored = file_.read_stored(group, output);
        if (!stored.ok()) return stored.error();
        const std::string object = group + "/" + output;
        const Result<Dtype> own = own_dtype(file_, object, (*stored)->dtype);
        if (!own.ok()) return own.error();
        auto tensor = to_oracle(std::move(*stored), *own, fmt::format("{}: {}", file_.path(), object));
        if (!tensor.ok()) return tensor.error();
        outputs.push_back({output, std::move(*tensor), *own});
    }
    return outputs;
}

Status BaselineReader::read_inputs(const std::string& group, CaseBaseline& baseline) const {
    if (!file_.has(group)) return {};
    for (const std::string& attribute : file_.attributes(group)) {
        if (!attribute.starts_with(kHashPrefix)) continue;
        Result<std::string> text = file_.read_string(group, attribute);
        if (!text.ok()) return text.status();
        baseline.input_hashes.emplace_back(attribute.substr(kHashPrefix.size()), std::move(*text));
    }
    for (const std::string& input : file_.children(group)) {
        auto tensor = file_.read_tensor(group, input);
        if (!tensor.ok()) return tensor.status();
        const Dtype dtype = (*tensor)->dtype;
        baseline.inputs.push_back({input, std::move(*tensor), dtype});
    }
    return {};
}

Result<CaseBaseline> BaselineReader::read(const std::string& key) const {
    if (!has(key)) return bad_input(fmt::format("{} has no baseline of case {}", file_.path(), key));
    const std::string group = "/" + key;
    CaseBaseline baseline;
    baseline.provenance = provenance_;
    if (Status s = read_inputs(group + "/inputs", baseline); !s.ok()) return s.error();
    for (const char* step : kSteps) {
        auto expected = read_expected(group + "/" + step);
        if (!expected.ok()) return expected.error();
        if (!expected->empty()) baseline.expected[step] = std::move(*expected);
    }
    if (baseline.expected.empty()) {
        return bad_input(
            fmt::format("{}: case {} has none of the groups forward, inplace, backward with expected "
                        "outputs (docs/hdf5.md)",
                        file_.path(), key));
    }
    return baseline;
}

}  // namespace diopi
