#include "capture/capture_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "call/arg_kind.hpp"
#include "capture/recipe_json.hpp"
#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Tree = JsonReader::Json;

constexpr int64_t kCaptureFormat = 1;
constexpr size_t kMostListed = size_t{1} << 14;  ///< tensors in one argument
constexpr std::array<std::string_view, 3> kPhases = {"forward", "backward", "optimizer"};

struct TextMember {
    const char* name;
    std::string Capture::*member;
};
constexpr TextMember kTexts[] = {
    {"model", &Capture::model}, {"generator", &Capture::generator}, {"values", &Capture::values}};

/// Where each id stands.
using Positions = std::unordered_map<std::string, size_t>;

/// Reads the parts of one capture.
class Reader {
 public:
    explicit Reader(JsonReader& json) : json_(json) {}

    bool read_capture(const Tree& json, Capture& capture) {
        int64_t format = 0;
        if (json.is_object() && !json.contains("diopi_capture")) {
            return json_.fail("", "no capture: member 'diopi_capture' is missing (docs/capture.md shows the form)");
        }
        // Another format may have other members.
        if (json.is_object() && !json_.read(json["diopi_capture"], "/diopi_capture", format)) return false;
        if (json.is_object() && format != kCaptureFormat) {
            return json_.fail("/diopi_capture", fmt::format("format {}, this program reads {}; use a newer diopi or "
                                                            "record the capture anew",
                                                            format, kCaptureFormat));
        }
        if (!json_.members(json, "", {"diopi_capture", "name", "storages", "tensors", "calls"},
                           {"model", "generator", "values"}) ||
            !json_.read(json["name"], "/name", capture.name)) {
            return false;
        }
        for (const auto& [name, member] : kTexts) {
            if (!json_.read_optional(json, "", name, capture.*member)) return false;
        }
        if (json.contains("values") && !is_id(capture.values)) {
            return json_.fail("/values", "the name of a file beside this one is wanted, without a folder");
        }
        return read_tensors(json, capture) && read_calls(json["calls"], capture);
    }

    /// The members storages and tensors.
    bool read_tensors(const Tree& json, Capture& capture) {
        return read_ids(json, "storages", storages_) && read_ids(json, "tensors", tensors_) &&
               read_storages(json["storages"], capture) && read_tensors_of(json["tensors"], capture);
    }

 private:
    bool read_ids(const Tree& json, const char* member, Positions& positions) {
        const std::string at = std::string("/") + member;
        const Tree& objects = json[member];
        if (!objects.is_object() || objects.size() > kMostJsonItems) {
            return json_.fail(at, fmt::format("an object with up to {} members is wanted", kMostJsonItems));
        }
        for (const std::string& id : json_.keys_of(member)) {
            if (!is_id(id)) {
                return json_.fail(at, fmt::format("'{}' is no id: 1 to 200 bytes without '/', '~' or control "
                                                  "characters are wanted",
                                                  clipped(id)));
            }
            positions.emplace(id, positions.size());
        }
        return true;
    }

    bool read_storages(const Tree& json, Capture& capture) {
        for (const std::string& id : json_.keys_of("storages")) {
            const Tree& member = json[id];
            const std::string at = "/storages/" + id;
            CapturedStorage storage{id, 0, {}};
            if (!json_.members(member, at, {"nbytes"}, {"fill"}) ||
                !json_.read(member["nbytes"], at + "/nbytes", storage.nbytes)) {
                return false;
            }
            if (storage.nbytes < 0) return json_.fail(at + "/nbytes", "a number of bytes from 0 on is wanted");
            if (const Tree* fill = JsonReader::find(member, "fill")) {
                if (!read_recipe(json_, *fill, at + "/fill", storage.fill.emplace())) return false;
                if (storage.nbytes % static_cast<int64_t>(size_of(storage.fill->dtype)) != 0) {
                    return json_.fail(at + "/fill/dtype", fmt::format("{} bytes are no whole number of {}",
                                                                      storage.nbytes, name(storage.fill->dtype)));
                }
            }
            capture.storages.push_back(std::move(storage));
        }
        return true;
    }

    bool read_tensors_of(const Tree& json, Capture& capture) {
        for (const std::string& id : json_.keys_of("tensors")) {
            if (!read_tensor_of(json[id], "/tensors/" + id, id, capture)) return false;
        }
        return true;
    }

    bool read_tensor_of(const Tree& json, const std::string& at, const std::string& id, Capture& capture) {
        size_t storage = 0;
        TensorSpec spec;
        int64_t offset = 0;
        std::string label;
        if (!json_.members(json, at, {"storage", "dtype", "shape", "strides", "offset"}, {"label", "grad_of"}) ||
            !read_id(json["storage"], at + "/storage", "storage", storages_, storage) ||
            !json_.read_spec(json, at, false, spec) || !json_.read(json["offset"], at + "/offset", offset) ||
            !json_.read_optional(json, at, "label", label)) {
            return false;
        }
        const CapturedStorage& of = capture.storages[storage];
        const auto size = static_cast<int64_t>(size_of(spec.dtype));
        int64_t end = 0;
        const bool within =
            offset >= 0 && !__builtin_add_overflow(offset, *checked_extent(spec), &end) && end <= of.nbytes / size;
        if (!within) {
            return json_.fail(at, fmt::format("{} elements of {} from {} on do not lie within the {} bytes of storage "
                                              "'{}'; mend shape, strides and offset, or nbytes",
                                              *checked_extent(spec), name(spec.dtype), offset, of.nbytes, of.id));
        }
        std::optional<size_t> grad_of;
        if (const Tree* other = JsonReader::find(json, "grad_of")) {
            if (!read_id(*other, at + "/grad_of", "tensor", tensors_, grad_of.emplace())) return false;
            if (*grad_of == capture.tensors.size()) return json_.fail(at + "/grad_of", "no tensor is its own gradient");
        }
        CapturedTensor& tensor = capture.tensors[capture.add_tensor(id, storage, spec, offset)];
        tensor.label = std::move(label);
        tensor.grad_of = grad_of;
        return true;
    }

    bool read_id(const Tree& json, const std::string& at, const char* what, const Positions& positions,
                 size_t& position) {
        std::string id;
        if (!json_.read(json, at, id)) return false;
        const auto found = positions.find(id);
        if (found == positions.end()) {
            const char* member = &positions == &tensors_ ? "tensors" : "storages";
            return json_.fail(at, fmt::format("there is no {} '{}' in /{}{}", what, clipped(id), member,
                                              hint(id, json_.keys_of(member))));
        }
        position = found->second;
        return true;
    }

    bool read_calls(const Tree& json, Capture& capture) {
        if (!json.is_array() || json.size() > kMostJsonItems) {
            return json_.fail("/calls", fmt::format("a list of up to {} calls is wanted", kMostJsonItems));
        }
        capture.calls.resize(json.size());
        for (size_t i = 0; i < json.size(); ++i) {
            if (!read_call(json[i], fmt::format("/calls/{}", i), capture, capture.calls[i])) return false;
        }
        return true;
    }

    bool read_call(const Tree& json, const std::string& at, Capture& capture, CapturedCall& call) {
        if (!json.is_object()) return json_.fail(at, "an object is wanted");
        const bool has_function = json.contains("function") || json.contains("args");
        const bool has_effects = json.contains("reads") || json.contains("writes");
        if (has_function == has_effects) {
            return json_.fail(at, "either function and args, or reads and writes are wanted");
        }
        const bool sound =
            has_function
                ? json_.members(json, at, {"overload", "function", "args"}, {"phase", "forward_id", "layer", "source"})
                : json_.members(json, at, {"overload", "reads", "writes"}, {"phase", "forward_id", "layer", "source"});
        if (!sound || !json_.read(json["overload"], at + "/overload", call.overload) ||
            !json_.read_optional(json, at, "layer", call.layer) ||
            !json_.read_optional(json, at, "source", call.source) || !read_phase(json, at, call)) {
            return false;
        }
        if (call.overload.empty()) return json_.fail(at + "/overload", "the framework's name of the call is wanted");
        return has_function ? read_function(json, at, capture, call)
                            : read_reads(json["reads"], at + "/reads", call) &&
                                  read_writes(json["writes"], at + "/writes", capture, call);
    }

    bool read_phase(const Tree& json, const std::string& at, CapturedCall& call) {
        if (!json_.read_optional(json, at, "phase", call.phase)) return false;
        if (json.contains("phase") && std::ranges::find(kPhases, call.phase) == kPhases.end()) {
            return json_.fail(at + "/phase",
                              fmt::format("'{}' is none of forward, backward and optimizer", clipped(call.phase)));
        }
        const Tree* id = JsonReader::find(json, "forward_id");
        if (id == nullptr) return true;
        if (!json_.read(*id, at + "/forward_id", call.forward_id.emplace())) return false;
        return *call.forward_id >= 0 || json_.fail(at + "/forward_id", "a count from 0 on is wanted");
    }

    bool read_reads(const Tree& json, const std::string& at, CapturedCall& call) {
        if (!json.is_array() || json.size() > kMostListed) return json_.fail(at, "a list of tensors is wanted");
        call.reads.resize(json.size());
        for (size_t i = 0; i < json.size(); ++i) {
            if (!read_id(json[i], fmt::format("{}/{}", at, i), "tensor", tensors_, call.reads[i])) return false;
        }
        return true;
    }

    bool read_writes(const Tree& json, const std::string& at, const Capture& capture, CapturedCall& call) {
        if (!json.is_object() || json.size() > kMostListed) {
            return json_.fail(at, "an object with a recipe per tensor is wanted");
        }
        for (const auto& [id, member] : json.items()) {
            auto& [tensor, recipe] = call.writes.emplace_back();
            if (!read_id(id, at, "tensor", tensors_, tensor)) return false;
            if (!read_recipe(json_, member, at + "/" + id, recipe)) return false;
            const Dtype dtype = capture.tensors[tensor].tensor->dtype;
            if (recipe.dtype == dtype) continue;
            return json_.fail(at + "/" + id + "/dtype",
                              fmt::format("{} for a tensor of {}", name(recipe.dtype), name(dtype)));
        }
        // The parser sorts keys as texts: t10 comes before t2.
        std::ranges::sort(call.writes, {}, [](const auto& write) { return write.first; });
        return true;
    }

    bool read_function(const Tree& json, const std::string& at, Capture& capture, CapturedCall& call) {
        std::string function;
        if (!json_.read(json["function"], at + "/function", function)) return false;
        const Row* row = find_row(function);
        if (row == nullptr) {
            std::vector<std::string> known;
            for (const Row& r : rows()) known.emplace_back(r.function);
            return json_.fail(at + "/function", fmt::format("the standard has no function '{}'{}", clipped(function),
                                                            hint(function, known)));
        }
        const Tree& args = json["args"];
        const std::string at_args = at + "/args";
        if (!has_each_arg(args, at_args, *row)) return false;
        call.call.emplace(*row);
        for (size_t i = 0; i < row->num_args; ++i) {
            const Arg& arg = row->args()[i];
            const std::string name(arg.name);
            if (!read_arg(args[name], at_args + "/" + name, arg, capture, call.call->args[i])) return false;
        }
        return true;
    }

    bool has_each_arg(const Tree& json, const std::string& at, const Row& row) {
        if (!json.is_object()) return json_.fail(at, "an object is wanted");
        std::vector<std::string> known;
        for (const Arg& arg : row.args()) known.emplace_back(arg.name);
        for (const auto& [key, value] : json.items()) {
            if (row.find(key) >= 0) continue;
            return json_.fail(at,
                              fmt::format("{} has no argument '{}'{}", row.function, clipped(key), hint(key, known)));
        }
        for (const std::string& name : known) {
            if (json.contains(name)) continue;
            return json_.fail(at, fmt::format("argument '{}' of {} is missing; null stands for one that is absent",
                                              name, row.function));
        }
        return true;
    }

    bool read_arg(const Tree& json, const std::string& at, const Arg& arg, Capture& capture, Value& value) {
        if (json.is_null()) {
            const bool may_be = arg.optional || arg.is_output || arg.kind == ArgKind::pointer;
            return may_be || json_.fail(at, fmt::format("a {} is wanted, and null is none", name(arg.kind)));
        }
        return read_value(json, at, arg.kind, capture, value) &&
               (fits(value, arg.kind) || json_.fail(at, beyond(arg.kind)));
    }

    static std::string beyond(ArgKind kind) {
        if (kind == ArgKind::float32) return "the C type is float, which holds up to 3.4e38";
        const auto [low, high] = range_of(kind);
        return fmt::format("the C type holds {} to {}", low, high);
    }

    bool read_value(const Tree& json, const std::string& at, ArgKind kind, Capture& capture, Value& value) {
        switch (alternative_of(kind)) {
            case kAlternative<TensorPtr>:
                return read_tensor(json, at, capture, value.emplace<TensorPtr>());
            case kAlternative<TensorList>:
                return read_list(json, at, capture, value.emplace<TensorList>());
            case kAlternative<Scalar>:
                return read_scalar(json, at, value.emplace<Scalar>());
            case kAlternative<int64_t>:
                return json_.read(json, at, value.emplace<int64_t>());
            case kAlternative<double>:
                return json_.read(json, at, value.emplace<double>());
            case kAlternative<bool>:
                return json_.read(json, at, value.emplace<bool>());
            case kAlternative<std::string>:
                return json_.read(json, at, value.emplace<std::string>());
            case kAlternative<IntList>:
                return json_.read(json, at, value.emplace<IntList>());
            case kAlternative<diopiGeneratorHandle_t>:
                return read_generator(json, at, capture, value);
        }
        return json_.fail(at, "nothing but null can stand for a pointer");
    }

    bool read_tensor(const Tree& json, const std::string& at, const Capture& capture, TensorPtr& tensor) {
        size_t position = 0;
        if (!read_id(json, at, "tensor", tensors_, position)) return false;
        tensor = capture.tensors[position].tensor;
        return true;
    }

    bool read_list(const Tree& json, const std::string& at, const Capture& capture, TensorList& list) {
        if (!json.is_array() || json.size() > kMostListed) return json_.fail(at, "a list of tensors is wanted");
        list.resize(json.size());
        for (size_t i = 0; i < json.size(); ++i) {
            if (json[i].is_null()) continue;
            if (!read_tensor(json[i], fmt::format("{}/{}", at, i), capture, list[i])) return false;
        }
        return true;
    }

    bool read_scalar(const Tree& json, const std::string& at, Scalar& number) {
        if (!json_.members(json, at, {"dtype", "value"}) || !json_.read(json["dtype"], at + "/dtype", number.dtype)) {
            return false;
        }
        if (is_floating(number.dtype)) return json_.read(json["value"], at + "/value", number.real);
        if (!json_.read(json["value"], at + "/value", number.integer)) return false;
        number.real = static_cast<double>(number.integer);
        return true;
    }

    bool read_generator(const Tree& json, const std::string& at, Capture& capture, Value& value) {
        auto generator = std::make_shared<Generator>();
        if (!json_.members(json, at, {"seed", "offset"}) || !json_.read(json["seed"], at + "/seed", generator->seed) ||
            !json_.read(json["offset"], at + "/offset", generator->offset)) {
            return false;
        }
        value = diopiGeneratorHandle_t{generator.get()};
        capture.generators.push_back(std::move(generator));
        return true;
    }

    JsonReader& json_;
    Positions storages_, tensors_;
};

}  // namespace

Result<Capture> capture_from_json(std::string_view text, const std::string& where) {
    JsonReader json(where);
    Tree parsed;
    Capture capture;
    if (!json.parse(text, parsed) || !Reader(json).read_capture(parsed, capture)) return json.error();
    return capture;
}

Result<Capture> tensors_from_json(std::string_view text, const std::string& where) {
    JsonReader json(where);
    Tree parsed;
    Capture capture;
    if (!json.parse(text, parsed) || !json.members(parsed, "", {"storages", "tensors"}) ||
        !Reader(json).read_tensors(parsed, capture)) {
        return json.error();
    }
    return capture;
}

}  // namespace diopi
