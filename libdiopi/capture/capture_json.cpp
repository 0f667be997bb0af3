#include "capture/capture_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "call/arg_kind.hpp"
#include "capture/recipe_json.hpp"
#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Kind = JsonNode::Kind;

constexpr int64_t kCaptureFormat = 1;
constexpr size_t kMostListed = size_t{1} << 14;  ///< tensors in one argument
constexpr std::array<std::string_view, 3> kPhases = {"forward", "backward", "optimizer"};

struct TextMember {
    const char* name;
    std::string Capture::*member;
};
constexpr TextMember kTexts[] = {
    {"model", &Capture::model}, {"generator", &Capture::generator}, {"values", &Capture::values}};

using Positions = std::unordered_map<std::string, size_t>;

/// Reads the parts of one capture.
class CaptureReader : public JsonReader {
 public:
    using JsonReader::JsonReader;

    bool read_capture(Capture& capture) {
        if (!root().is(Kind::kObject)) return wrong_kind(root(), "an object");
        const JsonNode* version = root().find("diopi_capture");
        if (version == nullptr) {
            return fail(root(), "no capture: the key 'diopi_capture' is missing (docs/capture.md shows the form)");
        }
        // Another format may have other members.
        int64_t format = 0;
        if (!read(*version, format)) return false;
        if (format != kCaptureFormat) {
            return fail(*version, fmt::format("format {}, this program reads {}; use a newer diopi or record the "
                                              "capture again",
                                              format, kCaptureFormat));
        }
        if (!members(root(), {"diopi_capture", "name", "storages", "tensors", "calls"},
                     {"model", "generator", "values"}) ||
            !read(*root().find("name"), capture.name)) {
            return false;
        }
        for (const auto& [name, member] : kTexts) {
            if (!read_optional(root(), name, capture.*member)) return false;
        }
        if (const JsonNode* values = root().find("values"); values != nullptr && !is_id(capture.values)) {
            return fail(*values, "expected the name of a file beside this one, without a folder");
        }
        return read_tensors(capture) && read_calls(*root().find("calls"), capture);
    }

    bool read_tensors(Capture& capture) {
        const JsonNode &storages = *root().find("storages"), &tensors = *root().find("tensors");
        return read_ids(storages, storages_) && read_ids(tensors, tensors_) && read_storages(storages, capture) &&
               read_tensors_of(tensors, capture);
    }

 private:
    using JsonReader::read;

    bool read_ids(const JsonNode& objects, Positions& positions) {
        if (!objects.is(Kind::kObject)) return wrong_kind(objects, "an object");
        for (const std::string& id : objects.keys) {
            if (!is_id(id)) {
                return fail(objects, fmt::format("'{}' is no id: expected 1 to 200 bytes without '/', '~' or control "
                                                 "characters",
                                                 clipped(id)));
            }
            positions.emplace(id, positions.size());
        }
        return true;
    }

    bool read_storages(const JsonNode& storages, Capture& capture) {
        for (size_t i = 0; i < storages.keys.size(); ++i) {
            const JsonNode& member = storages.items[i];
            CapturedStorage storage{storages.keys[i], 0, {}};
            if (!members(member, {"nbytes"}, {"fill"}) || !read(*member.find("nbytes"), storage.nbytes)) return false;
            if (storage.nbytes < 0) return fail(*member.find("nbytes"), "expected a number of bytes from 0 on");
            if (const JsonNode* fill = member.find("fill")) {
                if (!read_recipe(*this, *fill, storage.fill.emplace())) return false;
                if (storage.nbytes % static_cast<int64_t>(size_of(storage.fill->dtype)) != 0) {
                    return fail(*fill->find("dtype"), fmt::format("{} bytes are no whole number of {}", storage.nbytes,
                                                                  name(storage.fill->dtype)));
                }
            }
            capture.storages.push_back(std::move(storage));
        }
        return true;
    }

    bool read_tensors_of(const JsonNode& tensors, Capture& capture) {
        for (size_t i = 0; i < tensors.keys.size(); ++i) {
            if (!read_tensor_of(tensors.items[i], tensors.keys[i], capture)) return false;
        }
        return true;
    }

    bool read_tensor_of(const JsonNode& node, const std::string& id, Capture& capture) {
        size_t storage = 0;
        TensorSpec spec;
        int64_t offset = 0;
        std::string label;
        if (!members(node, {"storage", "dtype", "shape", "strides", "offset"}, {"label", "grad_of"}) ||
            !read_id(*node.find("storage"), "storage", storages_, storage) || !read_spec(node, false, spec) ||
            !read(*node.find("offset"), offset) || !read_optional(node, "label", label)) {
            return false;
        }
        const CapturedStorage& of = capture.storages[storage];
        const auto size = static_cast<int64_t>(size_of(spec.dtype));
        int64_t end = 0;
        const bool within =
            offset >= 0 && !__builtin_add_overflow(offset, *forward_extent(spec), &end) && end <= of.nbytes / size;
        if (!within) {
            return fail(node, fmt::format("{} elements of {} from {} on do not lie within the {} bytes of storage "
                                          "'{}'; correct shape, strides and offset, or nbytes",
                                          *forward_extent(spec), name(spec.dtype), offset, of.nbytes, of.id));
        }
        std::optional<size_t> grad_of;
        if (const JsonNode* other = node.find("grad_of")) {
            if (!read_id(*other, "tensor", tensors_, grad_of.emplace())) return false;
            if (*grad_of == capture.tensors.size()) return fail(*other, "no tensor is its own gradient");
        }
        CapturedTensor& tensor = capture.tensors[capture.add_tensor(id, storage, spec, offset)];
        tensor.label = std::move(label);
        tensor.grad_of = grad_of;
        return true;
    }

    bool read_id(const JsonNode& node, const char* what, const Positions& positions, size_t& position) {
        std::string id;
        return read(node, id) && find_id(node, id, what, positions, position);
    }

    bool find_id(const JsonNode& at, const std::string& id, const char* what, const Positions& positions,
                 size_t& position) {
        const auto found = positions.find(id);
        if (found == positions.end()) {
            const char* member = &positions == &tensors_ ? "tensors" : "storages";
            return fail(at, fmt::format("there is no {} '{}' in /{}{}", what, clipped(id), member,
                                        hint(id, root().find(member)->keys)));
        }
        position = found->second;
        return true;
    }

    bool read_calls(const JsonNode& calls, Capture& capture) {
        if (!calls.is(Kind::kList)) return wrong_kind(calls, "a list of calls");
        capture.calls.resize(calls.items.size());
        for (size_t i = 0; i < calls.items.size(); ++i) {
            if (!read_call(calls.items[i], capture, capture.calls[i])) return false;
        }
        return true;
    }

    bool read_call(const JsonNode& node, Capture& capture, CapturedCall& call) {
        if (!node.is(Kind::kObject)) return wrong_kind(node, "an object");
        const auto has = [&](const char* key) { return node.find(key) != nullptr; };
        const bool has_function = has("function") || has("args");
        const bool has_effects = has("reads") || has("writes");
        if (has_function == has_effects) return fail(node, "expected either function and args, or reads and writes");
        const bool is_valid =
            has_function ? members(node, {"overload", "function", "args"}, {"phase", "forward_id", "layer", "source"})
                         : members(node, {"overload", "reads", "writes"}, {"phase", "forward_id", "layer", "source"});
        if (!is_valid || !read(*node.find("overload"), call.overload) || !read_optional(node, "layer", call.layer) ||
            !read_optional(node, "source", call.source) || !read_phase(node, call)) {
            return false;
        }
        if (call.overload.empty()) return fail(*node.find("overload"), "expected the framework's name of the call");
        return has_function ? read_function(node, capture, call)
                            : read_reads(*node.find("reads"), call) && read_writes(*node.find("writes"), capture, call);
    }

    bool read_phase(const JsonNode& node, CapturedCall& call) {
        if (!read_optional(node, "phase", call.phase)) return false;
        const JsonNode* phase = node.find("phase");
        if (phase != nullptr && std::ranges::find(kPhases, call.phase) == kPhases.end()) {
            return fail(*phase, fmt::format("'{}' is none of forward, backward and optimizer", clipped(call.phase)));
        }
        const JsonNode* id = node.find("forward_id");
        if (id == nullptr) return true;
        if (!read(*id, call.forward_id.emplace())) return false;
        return *call.forward_id >= 0 || fail(*id, "expected a count from 0 on");
    }

    bool read_reads(const JsonNode& node, CapturedCall& call) {
        if (!is_list_of("tensors", node)) return false;
        call.reads.resize(node.items.size());
        for (size_t i = 0; i < call.reads.size(); ++i) {
            if (!read_id(node.items[i], "tensor", tensors_, call.reads[i])) return false;
        }
        return true;
    }

    bool read_writes(const JsonNode& node, const Capture& capture, CapturedCall& call) {
        if (!node.is(Kind::kObject) || node.items.size() > kMostListed) {
            return wrong_kind(node, "an object with a recipe per tensor");
        }
        for (size_t i = 0; i < node.items.size(); ++i) {
            auto& [tensor, recipe] = call.writes.emplace_back();
            if (!find_id(node, node.keys[i], "tensor", tensors_, tensor)) return false;
            if (!read_recipe(*this, node.items[i], recipe)) return false;
            const Dtype dtype = capture.tensors[tensor].tensor->dtype;
            if (recipe.dtype == dtype) continue;
            return fail(*node.items[i].find("dtype"),
                        fmt::format("{} for a tensor of {}", name(recipe.dtype), name(dtype)));
        }
        std::ranges::sort(call.writes, {}, [](const auto& write) { return write.first; });
        return true;
    }

    bool read_function(const JsonNode& node, Capture& capture, CapturedCall& call) {
        std::string function;
        const JsonNode& at = *node.find("function");
        if (!read(at, function)) return false;
        const Row* row = find_row(function);
        if (row == nullptr) {
            std::vector<std::string> known;
            for (const Row& r : rows()) known.emplace_back(r.function);
            return fail(at,
                        fmt::format("the standard has no function '{}'{}", clipped(function), hint(function, known)));
        }
        const JsonNode& args = *node.find("args");
        if (!has_each_arg(args, *row)) return false;
        call.call.emplace(*row);
        for (size_t i = 0; i < row->num_args; ++i) {
            const Arg& arg = row->args()[i];
            if (!read_arg(*args.find(arg.name), arg, capture, call.call->args[i])) return false;
        }
        return true;
    }

    bool has_each_arg(const JsonNode& node, const Row& row) {
        if (!node.is(Kind::kObject)) return wrong_kind(node, "an object");
        std::vector<std::string> known;
        for (const Arg& arg : row.args()) known.emplace_back(arg.name);
        for (const std::string& key : node.keys) {
            if (row.find(key) >= 0) continue;
            return fail(node, fmt::format("{} has no argument '{}'{}", row.function, clipped(key), hint(key, known)));
        }
        for (const std::string& name : known) {
            if (node.find(name) != nullptr) continue;
            return fail(node, fmt::format("argument '{}' of {} is missing; null stands for one that is absent", name,
                                          row.function));
        }
        return true;
    }

    bool read_arg(const JsonNode& node, const Arg& arg, Capture& capture, Value& value) {
        if (node.is(Kind::kNull)) {
            const bool may_be = arg.optional || arg.is_output || arg.kind == ArgKind::pointer;
            return may_be || wrong_kind(node, fmt::format("a {}", name(arg.kind)));
        }
        return read_value(node, arg.kind, capture, value) && (fits(value, arg.kind) || fail(node, beyond(arg.kind)));
    }

    static std::string beyond(ArgKind kind) {
        if (kind == ArgKind::float32) return "the C type is float, which holds up to 3.4e38";
        const auto [low, high] = range_of(kind);
        return fmt::format("the C type holds {} to {}", low, high);
    }

    bool read_value(const JsonNode& node, ArgKind kind, Capture& capture, Value& value) {
        switch (alternative_of(kind)) {
            case kAlternative<TensorPtr>:
                return read_tensor(node, capture, value.emplace<TensorPtr>());
            case kAlternative<TensorList>:
                return read_tensor_list(node, capture, value.emplace<TensorList>());
            case kAlternative<Scalar>:
                return read_scalar(node, value.emplace<Scalar>());
            case kAlternative<int64_t>:
                return read(node, value.emplace<int64_t>());
            case kAlternative<double>:
                return read(node, value.emplace<double>());
            case kAlternative<bool>:
                return read(node, value.emplace<bool>());
            case kAlternative<std::string>:
                return read(node, value.emplace<std::string>());
            case kAlternative<IntList>:
                return read(node, value.emplace<IntList>());
            case kAlternative<diopiGeneratorHandle_t>:
                return read_generator(node, capture, value.emplace<diopiGeneratorHandle_t>());
            case kAlternative<GeneratorList>:
                return read_generator_list(node, capture, value.emplace<GeneratorList>());
        }
        return fail(node, "a pointer can only be null");
    }

    bool read_tensor(const JsonNode& node, const Capture& capture, TensorPtr& tensor) {
        size_t position = 0;
        if (!read_id(node, "tensor", tensors_, position)) return false;
        tensor = capture.tensors[position].tensor;
        return true;
    }

    bool is_list_of(std::string_view what, const JsonNode& node) {
        if (!node.is(Kind::kList)) return wrong_kind(node, fmt::format("a list of {}", what));
        return node.items.size() <= kMostListed ||
               fail(node, fmt::format("{} {} in a list, up to {} are read", node.items.size(), what, kMostListed));
    }

    bool read_tensor_list(const JsonNode& node, const Capture& capture, TensorList& list) {
        if (!is_list_of("tensors", node)) return false;
        list.resize(node.items.size());
        for (size_t i = 0; i < list.size(); ++i) {
            if (node.items[i].is(Kind::kNull)) continue;
            if (!read_tensor(node.items[i], capture, list[i])) return false;
        }
        return true;
    }

    bool read_scalar(const JsonNode& node, Scalar& number) {
        if (!members(node, {"dtype", "value"}) || !read(*node.find("dtype"), number.dtype)) return false;
        if (is_floating(number.dtype)) return read(*node.find("value"), number.real);
        if (!read(*node.find("value"), number.integer)) return false;
        number.real = static_cast<double>(number.integer);
        return true;
    }

    bool read_generator_list(const JsonNode& node, Capture& capture, GeneratorList& list) {
        if (!is_list_of("generators", node)) return false;
        list.resize(node.items.size());
        for (size_t i = 0; i < list.size(); ++i) {
            if (!node.items[i].is(Kind::kNull) && !read_generator(node.items[i], capture, list[i])) return false;
        }
        return true;
    }

    bool read_generator(const JsonNode& node, Capture& capture, diopiGeneratorHandle_t& handle) {
        auto generator = std::make_shared<Generator>();
        if (!members(node, {"seed", "offset"}) || !read(*node.find("seed"), generator->seed) ||
            !read(*node.find("offset"), generator->offset)) {
            return false;
        }
        handle = generator.get();
        capture.generators.push_back(std::move(generator));
        return true;
    }

    Positions storages_, tensors_;
};

}  // namespace

Result<Capture> capture_from_json(std::string_view text, const std::string& where) {
    const auto root = parse_json(text, where);
    if (!root.ok()) return root.error();
    CaptureReader reader(where, *root);
    Capture capture;
    if (!reader.read_capture(capture)) return reader.error();
    return capture;
}

Result<Capture> tensors_from_json(std::string_view text, const std::string& where) {
    const auto root = parse_json(text, where);
    if (!root.ok()) return root.error();
    CaptureReader reader(where, *root);
    Capture capture;
    if (!reader.members(*root, {"storages", "tensors"}) || !reader.read_tensors(capture)) return reader.error();
    return capture;
}

}  // namespace diopi
