#include "store/call_json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/extent.hpp"
#include "core/suggest.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostText = size_t{16} << 20;
constexpr int kMostDepth = 16;
constexpr size_t kMostRank = 32;  ///< that of HDF5
constexpr size_t kMostTensors = 4096;
constexpr size_t kMostIntegers = size_t{1} << 20;
constexpr size_t kMostName = 200;

/// The kind of value that a C type takes; "null" for one that takes none.
const char* kind_of(ArgKind kind) {
    switch (kind) {
        case ArgKind::tensor:
        case ArgKind::const_tensor:
            return "tensor";
        case ArgKind::tensors:
        case ArgKind::const_tensors:
            return "tensors";
        case ArgKind::scalar:
            return "number";
        case ArgKind::int_list:
        case ArgKind::int_list_ptr:
            return "integers";
        case ArgKind::int64:
        case ArgKind::int32:
        case ArgKind::reduction:
        case ArgKind::round_mode:
        case ArgKind::memory_format:
        case ArgKind::int64_ptr:
            return "integer";
        case ArgKind::float32:
        case ArgKind::float64:
        case ArgKind::float64_ptr:
            return "floating";
        case ArgKind::boolean:
        case ArgKind::boolean_ptr:
            return "bool";
        case ArgKind::text:
            return "text";
        case ArgKind::generator:
        case ArgKind::generators:
            return "generator";
        case ArgKind::pointer:
            return "null";
    }
    return "null";
}

/// In the order of Value's alternatives.
constexpr std::array kKinds = {"null",     "tensor", "tensors", "number",   "integer",
                               "floating", "bool",   "text",    "integers", "generator"};
static_assert(kKinds.size() == std::variant_size_v<Value>);

Json encode(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    return x;
}

Json encode(const TensorReference& reference) {
    return {{"tensor", reference.tensor},        {"dtype", name(reference.spec.dtype)}, {"shape", reference.spec.shape},
            {"strides", reference.spec.strides}, {"offset", reference.offset},          {"extent", reference.extent}};
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json encode_tensor(const TensorPtr& tensor, const NameTensor& name_of, const std::string& place) {
    if (tensor == nullptr) return nullptr;
    const auto extent = static_cast<int64_t>(tensor->storage.nbytes / size_of(tensor->dtype));
    return encode(TensorReference{
        name_of(*tensor, place), {tensor->shape, tensor->dtype, tensor->strides}, tensor->offset, extent});
}

/// The member `value` of an argument that is not null.
struct ValueWriter {
    const std::string& place;
    const NameTensor& name_of;

    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(const TensorPtr& tensor) const { return encode_tensor(tensor, name_of, place); }
    Json operator()(const TensorList& list) const {
        Json json = Json::array();
        for (size_t i = 0; i < list.size(); ++i) {
            json.push_back(encode_tensor(list[i], name_of, place + "." + std::to_string(i)));
        }
        return json;
    }
    Json operator()(const Scalar& number) const {
        const Json value = is_floating(number.dtype) ? encode(number.real) : Json(number.integer);
        return {{"dtype", name(number.dtype)}, {"value", value}};
    }
    Json operator()(int64_t x) const { return x; }
    Json operator()(double x) const { return encode(x); }
    Json operator()(bool x) const { return x; }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(const IntList& list) const { return list; }
    Json operator()(const diopiGeneratorHandle_t& handle) const {
        return {{"seed", handle->seed}, {"offset", handle->offset}};
    }
};

bool is_sparse(const Value& value) {
    if (const auto* tensor = std::get_if<TensorPtr>(&value)) return *tensor != nullptr && (*tensor)->is_sparse();
    const auto* list = std::get_if<TensorList>(&value);
    return list != nullptr &&
           std::ranges::any_of(*list, [](const TensorPtr& t) { return t != nullptr && t->is_sparse(); });
}

/// did_you_mean for a word that a stranger wrote: the distance to a long one takes long.
std::string hint(const std::string& word, std::span<const std::string> known) {
    return word.size() > kMostName ? "" : did_you_mean(word, known);
}

/// The bounds of what a reader takes, and whether a key occurs twice: what the parser looks at on its way.
class Watch {
 public:
    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kMostDepth) complaint_ = "nested too deeply";
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_.pop_back();
        if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second) {
            complaint_ = fmt::format("the key '{}' occurs twice in one object", parsed.get<std::string>());
        }
        return true;
    }
    [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
    std::vector<std::set<std::string>> keys_;
    std::string complaint_;
};

/// Every step returns false after it has stated the first error as "where: JSON pointer: what is wrong".
class Reader {
 public:
    explicit Reader(const std::string& where) : where_(where) {}

    [[nodiscard]] const Error& error() const { return error_; }

    bool parse(std::string_view text, Json& json) {
        if (text.size() > kMostText) return fail("", fmt::format("{} bytes are too many", text.size()));
        Watch watch;
        try {
            json = Json::parse(text, std::ref(watch));
        } catch (const Json::exception& e) {
            const char* message = std::strstr(e.what(), "] ");
            return fail("", message == nullptr ? e.what() : message + 2);
        }
        return watch.complaint().empty() || fail("", watch.complaint());
    }

    bool read_call(const Json& json, const FindTensor& find, std::optional<StoredCall>& stored) {
        std::string function;
        if (!members(json, "", {"function", "args"}) || !read(json["function"], "/function", function)) return false;
        const Row* row = find_row(function);
        if (row == nullptr) {
            std::vector<std::string> known;
            for (const Row& r : rows()) known.emplace_back(r.function);
            return fail("/function",
                        fmt::format("the standard has no function '{}'{}", function, hint(function, known)));
        }
        const Json& args = json["args"];
        if (!args.is_array() || args.size() != row->num_args) {
            return fail("/args",
                        fmt::format("{} has {} arguments, and all of them are wanted", function, row->num_args));
        }
        stored.emplace(StoredCall{Call(*row), {}});
        for (size_t i = 0; i < args.size(); ++i) {
            const std::string at = fmt::format("/args/{}", i);
            if (!read_arg(args[i], at, row->args()[i], find, *stored, stored->call.args[i])) return false;
        }
        return true;
    }

    bool read_outputs(const Json& json, const Row& row, std::vector<OutputSpec>& outputs) {
        if (!json.is_array() || json.size() > row.num_args) return fail("", "a list of outputs is wanted");
        for (size_t i = 0; i < json.size(); ++i) {
            const std::string at = fmt::format("/{}", i);
            OutputSpec output;
            std::string name;
            if (!members(json[i], at, {"name", "dtype", "shape", "strides", "has_meaning"}) ||
                !read(json[i]["name"], at + "/name", name) || !read_spec(json[i], at, true, output.spec) ||
                !read(json[i]["has_meaning"], at + "/has_meaning", output.has_meaning)) {
                return false;
            }
            const int arg = row.find(name);
            if (arg < 0 || !row.args()[static_cast<size_t>(arg)].is_output ||
                !row.args()[static_cast<size_t>(arg)].is_tensor()) {
                return fail(at + "/name", fmt::format("{} has no output '{}'", row.function, name));
            }
            output.arg = static_cast<size_t>(arg);
            outputs.push_back(std::move(output));
        }
        return true;
    }

    bool read_layouts(const Json& json, std::vector<TensorReference>& layouts) {
        if (!json.is_array() || json.size() > kMostTensors) return fail("", "a list of layouts is wanted");
        for (size_t i = 0; i < json.size(); ++i) {
            if (!read(json[i], fmt::format("/{}", i), layouts.emplace_back())) return false;
        }
        return true;
    }

 private:
    bool fail(const std::string& at, const std::string& message) {
        error_ = bad_input(fmt::format("{}: {}{}{}", where_, at, at.empty() ? "" : ": ", message));
        return false;
    }

    /// An object with all of these members and no other.
    bool members(const Json& json, const std::string& at, std::initializer_list<const char*> wanted) {
        if (!json.is_object()) return fail(at, "an object is wanted");
        const std::vector<std::string> known(wanted.begin(), wanted.end());
        for (const auto& [key, value] : json.items()) {
            if (std::ranges::find(known, key) != known.end()) continue;
            return fail(at, fmt::format("unknown member '{}'{}", key, hint(key, known)));
        }
        for (const std::string& key : known) {
            if (!json.contains(key)) return fail(at, fmt::format("member '{}' is missing", key));
        }
        return true;
    }

    bool read(const Json& json, const std::string& at, std::string& text) {
        if (!json.is_string()) return fail(at, "a text is wanted");
        text = json.get<std::string>();
        return true;
    }
    bool read(const Json& json, const std::string& at, bool& value) {
        if (!json.is_boolean()) return fail(at, "true or false is wanted");
        value = json.get<bool>();
        return true;
    }
    bool read(const Json& json, const std::string& at, int64_t& value) {
        const bool too_large = json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
        if (!json.is_number_integer() || too_large) return fail(at, "an integer of 64 bits with a sign is wanted");
        value = json.get<int64_t>();
        return true;
    }
    bool read(const Json& json, const std::string& at, uint64_t& value) {
        if (!json.is_number_unsigned()) return fail(at, "an integer from 0 to 2^64 - 1 is wanted");
        value = json.get<uint64_t>();
        return true;
    }
    bool read(const Json& json, const std::string& at, double& value) {
        if (json.is_number()) {
            value = json.get<double>();
            return true;
        }
        if (json == "nan") value = std::numeric_limits<double>::quiet_NaN();
        if (json == "inf") value = std::numeric_limits<double>::infinity();
        if (json == "-inf") value = -std::numeric_limits<double>::infinity();
        const bool special = json == "nan" || json == "inf" || json == "-inf";
        return special || fail(at, "a number, \"nan\", \"inf\" or \"-inf\" is wanted");
    }
    bool read(const Json& json, const std::string& at, Dtype& dtype) {
        std::string text;
        if (!read(json, at, text)) return false;
        const auto parsed = parse_dtype(text);
        if (!parsed || *parsed == Dtype::unsupported) return fail(at, fmt::format("there is no dtype '{}'", text));
        dtype = *parsed;
        return true;
    }
    bool read(const Json& json, const std::string& at, std::vector<int64_t>& list) {
        if (!json.is_array() || json.size() > kMostIntegers) return fail(at, "a list of integers is wanted");
        list.resize(json.size());
        for (size_t i = 0; i < json.size(); ++i) {
            if (!read(json[i], fmt::format("{}/{}", at, i), list[i])) return false;
        }
        return true;
    }

    bool read_spec(const Json& json, const std::string& at, bool may_lack_strides, TensorSpec& spec) {
        if (!read(json["dtype"], at + "/dtype", spec.dtype) || !read(json["shape"], at + "/shape", spec.shape) ||
            !read(json["strides"], at + "/strides", spec.strides)) {
            return false;
        }
        if (spec.shape.size() > kMostRank || !is_addressable(spec.shape)) {
            return fail(at + "/shape", to_string(spec.shape) + " is no shape that a tensor can have");
        }
        if (may_lack_strides && spec.strides.empty()) return true;
        if (spec.strides.size() != spec.shape.size()) {
            return fail(at + "/strides", fmt::format("{} strides for {} dims", spec.strides.size(), spec.shape.size()));
        }
        return span_of(spec) ||
               fail(at + "/strides", to_string(spec.strides) + " are no strides that a tensor can have");
    }

    /// storage_extent in bytes, of strides that are not negative; nullopt where it goes beyond int64.
    static std::optional<int64_t> span_of(const TensorSpec& spec) {
        int64_t last = 0;
        for (size_t d = 0; d < spec.shape.size(); ++d) {
            int64_t reach = 0;
            const bool beyond =
                spec.strides[d] < 0 ||
                __builtin_mul_overflow(std::max<int64_t>(spec.shape[d] - 1, 0), spec.strides[d], &reach) ||
                __builtin_add_overflow(last, reach, &last);
            if (beyond) return std::nullopt;
        }
        int64_t nbytes = 0;
        if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, 16, &nbytes)) return std::nullopt;
        return numel(spec.shape) == 0 ? 0 : last;
    }

    bool read(const Json& json, const std::string& at, TensorReference& reference) {
        if (!members(json, at, {"tensor", "dtype", "shape", "strides", "offset", "extent"}) ||
            !read(json["tensor"], at + "/tensor", reference.tensor) || !read_spec(json, at, false, reference.spec) ||
            !read(json["offset"], at + "/offset", reference.offset) ||
            !read(json["extent"], at + "/extent", reference.extent)) {
            return false;
        }
        const std::string& name = reference.tensor;
        if (name.empty() || name == "." || name.size() > kMostName || name.find('/') != std::string::npos) {
            return fail(at + "/tensor", "no name of a tensor");
        }
        int64_t end = 0, nbytes = 0;
        const bool within = reference.offset >= 0 &&
                            !__builtin_add_overflow(reference.offset, *span_of(reference.spec), &end) &&
                            end <= reference.extent && !__builtin_mul_overflow(reference.extent, 16, &nbytes);
        return within ||
               fail(at + "/extent", fmt::format("the elements do not lie within a storage of {}", reference.extent));
    }

    bool read_arg(const Json& json, const std::string& at, const Arg& arg, const FindTensor& find, StoredCall& stored,
                  Value& value) {
        std::string name, kind;
        const bool is_null = json.is_object() && json.value("kind", Json()) == "null";
        const bool sound = is_null ? members(json, at, {"name", "kind"}) : members(json, at, {"name", "kind", "value"});
        if (!sound || !read(json["name"], at + "/name", name) || !read(json["kind"], at + "/kind", kind)) return false;
        if (name != arg.name) return fail(at + "/name", fmt::format("'{}' stands where {} is wanted", name, arg.name));
        if (is_null) {
            const bool may_be = arg.optional || arg.is_output || arg.kind == ArgKind::pointer;
            return may_be || fail(at, fmt::format("{} may not be null", arg.name));
        }
        if (kind != kind_of(arg.kind)) {
            return fail(at + "/kind", fmt::format("'{}' where {} takes '{}'", kind, arg.name, kind_of(arg.kind)));
        }
        return read_value(json["value"], at + "/value", arg.kind, find, stored, value);
    }

    bool read_value(const Json& json, const std::string& at, ArgKind kind, const FindTensor& find, StoredCall& stored,
                    Value& value) {
        const std::string_view word = kind_of(kind);
        if (word == "tensor") return read_tensor(json, at, find, value.emplace<TensorPtr>());
        if (word == "tensors") return read_tensors(json, at, find, value.emplace<TensorList>());
        if (word == "number") return read(json, at, value.emplace<Scalar>());
        if (word == "floating") return read(json, at, value.emplace<double>());
        if (word == "bool") return read(json, at, value.emplace<bool>());
        if (word == "text") return read(json, at, value.emplace<std::string>());
        if (word == "integers") return read(json, at, value.emplace<IntList>());
        if (word == "generator") return read_generator(json, at, stored, value);
        auto& integer = value.emplace<int64_t>();
        if (!read(json, at, integer)) return false;
        const bool fits = kind != ArgKind::int32 || (integer >= INT32_MIN && integer <= INT32_MAX);
        return fits || fail(at, "an integer of 32 bits is wanted");
    }

    bool read_tensor(const Json& json, const std::string& at, const FindTensor& find, TensorPtr& tensor) {
        TensorReference reference;
        if (!read(json, at, reference)) return false;
        auto found = find(reference);
        if (!found.ok()) return fail(at, found.error().message);
        tensor = *found;
        return true;
    }

    bool read_tensors(const Json& json, const std::string& at, const FindTensor& find, TensorList& list) {
        if (!json.is_array() || json.size() > kMostTensors) return fail(at, "a list of tensors is wanted");
        list.resize(json.size());
        for (size_t i = 0; i < json.size(); ++i) {
            if (json[i].is_null()) continue;
            if (!read_tensor(json[i], fmt::format("{}/{}", at, i), find, list[i])) return false;
        }
        return true;
    }

    bool read(const Json& json, const std::string& at, Scalar& number) {
        if (!members(json, at, {"dtype", "value"}) || !read(json["dtype"], at + "/dtype", number.dtype)) return false;
        if (is_floating(number.dtype)) return read(json["value"], at + "/value", number.real);
        if (!read(json["value"], at + "/value", number.integer)) return false;
        number.real = static_cast<double>(number.integer);
        return true;
    }

    bool read_generator(const Json& json, const std::string& at, StoredCall& stored, Value& value) {
        auto generator = std::make_shared<Generator>();
        if (!members(json, at, {"seed", "offset"}) || !read(json["seed"], at + "/seed", generator->seed) ||
            !read(json["offset"], at + "/offset", generator->offset)) {
            return false;
        }
        stored.generators.push_back(generator);
        value = diopiGeneratorHandle_t{generator.get()};
        return true;
    }

    const std::string& where_;
    Error error_;
};

}  // namespace

bool TensorReference::is_dense() const {
    return offset == 0 && is_contiguous(spec.shape, spec.strides) && extent == numel(spec.shape);
}

Result<std::string> call_to_json(const Call& call, const NameTensor& name_of) {
    Json args = Json::array();
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const Value& value = call.args[i];
        const std::string place(arg.name);
        const std::string kind = is_null(value) ? "null" : kKinds[value.index()];
        if (is_sparse(value)) {
            return not_implemented(
                fmt::format("{}: {} is sparse, which no file of ours can hold yet", call.row->function, place));
        }
        if (kind != "null" && kind != kind_of(arg.kind)) {
            return internal_error(fmt::format("{}: argument {} holds '{}' instead of '{}'", call.row->function, place,
                                              kind, kind_of(arg.kind)));
        }
        Json json = {{"name", place}, {"kind", kind}};
        if (kind != "null") json["value"] = std::visit(ValueWriter{place, name_of}, value);
        args.push_back(std::move(json));
    }
    return dump({{"function", call.row->function}, {"args", std::move(args)}});
}

Result<StoredCall> call_from_json(std::string_view text, const std::string& where, const FindTensor& find) {
    Reader reader(where);
    Json json;
    std::optional<StoredCall> stored;
    if (!reader.parse(text, json) || !reader.read_call(json, find, stored)) return reader.error();
    return std::move(*stored);
}

std::string outputs_to_json(const Row& row, const std::vector<OutputSpec>& outputs) {
    Json json = Json::array();
    for (const OutputSpec& output : outputs) {
        json.push_back({{"name", row.args()[output.arg].name},
                        {"dtype", name(output.spec.dtype)},
                        {"shape", output.spec.shape},
                        {"strides", output.spec.strides},
                        {"has_meaning", output.has_meaning}});
    }
    return dump(json);
}

Result<std::vector<OutputSpec>> outputs_from_json(std::string_view text, const std::string& where, const Row& row) {
    Reader reader(where);
    Json json;
    std::vector<OutputSpec> outputs;
    if (!reader.parse(text, json) || !reader.read_outputs(json, row, outputs)) return reader.error();
    return outputs;
}

std::string layouts_to_json(const std::vector<TensorReference>& layouts) {
    Json json = Json::array();
    for (const TensorReference& layout : layouts) json.push_back(encode(layout));
    return dump(json);
}

Result<std::vector<TensorReference>> layouts_from_json(std::string_view text, const std::string& where) {
    Reader reader(where);
    Json json;
    std::vector<TensorReference> layouts;
    if (!reader.parse(text, json) || !reader.read_layouts(json, layouts)) return reader.error();
    return layouts;
}

}  // namespace diopi
