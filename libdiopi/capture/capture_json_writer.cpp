/// The writing half of capture_json.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "call/arg_kind.hpp"
#include "capture/capture_json.hpp"
#include "capture/recipe_json.hpp"
#include "json/json_text.hpp"

namespace diopi {

namespace {

/// Prints one line with a space behind each comma and colon.
void print(const Json& json, std::string& line) {
    if (!json.is_structured()) {
        line += one_line(json);
        return;
    }
    const bool is_object = json.is_object();
    line += is_object ? '{' : '[';
    const char* separator = "";
    for (const auto& [key, value] : json.items()) {
        line += separator;
        separator = ", ";
        if (is_object) print(key, line), line += ": ";
        print(value, line);
    }
    line += is_object ? '}' : ']';
}

std::string printed(const Json& json) {
    std::string line;
    print(json, line);
    return line;
}

/// Writes until the first error.
class Writer {
 public:
    explicit Writer(const Capture& capture) : capture_(capture) {
        for (const CapturedTensor& tensor : capture.tensors) ids_.emplace(tensor.tensor.get(), &tensor.id);
    }

    Result<std::string> whole() {
        std::string text = "{\n  \"diopi_capture\": 1,\n";
        text += "  \"name\": " + printed(capture_.name) + ",\n";
        const auto optional = [&](const char* name, const std::string& value) {
            if (!value.empty()) text += fmt::format("  \"{}\": {},\n", name, printed(value));
        };
        optional("model", capture_.model);
        optional("generator", capture_.generator);
        optional("values", capture_.values);
        text += storages_and_tensors() + ",\n  \"calls\": [";
        const char* separator = "\n    ";
        for (const CapturedCall& call : capture_.calls) {
            text += separator + printed(call_of(call));
            separator = ",\n    ";
            if (!status_.ok()) return status_.error();
        }
        text += capture_.calls.empty() ? "]\n}\n" : "\n  ]\n}\n";
        return status_.ok() ? Result<std::string>(std::move(text)) : status_.error();
    }

    Result<std::string> tensors() {
        std::string text = "{\n" + storages_and_tensors() + "\n}\n";
        return status_.ok() ? Result<std::string>(std::move(text)) : status_.error();
    }

 private:
    void fail(Error error) {
        if (status_.ok()) status_ = std::move(error);
    }

    /// The members storages and tensors, without a final newline.
    std::string storages_and_tensors() {
        const auto member = [](const char* name, const auto& items, const auto& line_of) {
            std::string text = fmt::format("  \"{}\": {{", name);
            const char* separator = "\n    ";
            for (const auto& item : items) {
                text += separator + printed(item.id) + ": " + printed(line_of(item));
                separator = ",\n    ";
            }
            return text + (items.empty() ? "}" : "\n  }");
        };
        return member("storages", capture_.storages,
                      [](const CapturedStorage& storage) {
                          Json json = {{"nbytes", storage.nbytes}};
                          if (storage.fill) json["fill"] = recipe_to_json(*storage.fill);
                          return json;
                      }) +
               ",\n" +
               member("tensors", capture_.tensors, [&](const CapturedTensor& tensor) { return tensor_of(tensor); });
    }

    Json tensor_of(const CapturedTensor& captured) {
        const Tensor& tensor = *captured.tensor;
        if (tensor.is_sparse()) {
            fail(not_implemented(fmt::format("{} is sparse, which diopi's files cannot store yet", captured.id)));
        }
        Json json = {{"storage", capture_.storages[captured.storage].id},
                     {"dtype", name(tensor.dtype)},
                     {"shape", tensor.shape},
                     {"strides", tensor.strides},
                     {"offset", tensor.offset}};
        if (!captured.label.empty()) json["label"] = captured.label;
        if (captured.grad_of) json["grad_of"] = capture_.tensors[*captured.grad_of].id;
        return json;
    }

    Json call_of(const CapturedCall& call) {
        Json json = {{"overload", call.overload}};
        if (!call.phase.empty()) json["phase"] = call.phase;
        if (call.forward_id) json["forward_id"] = *call.forward_id;
        if (!call.layer.empty()) json["layer"] = call.layer;
        if (!call.source.empty()) json["source"] = call.source;
        if (call.call) {
            json["function"] = call.call->row->function;
            json["args"] = args_of(*call.call);
            return json;
        }
        json["reads"] = Json::array();
        json["writes"] = Json::object();
        for (const size_t tensor : call.reads) json["reads"].push_back(capture_.tensors[tensor].id);
        for (const auto& [tensor, recipe] : call.writes) {
            json["writes"][capture_.tensors[tensor].id] = recipe_to_json(recipe);
        }
        return json;
    }

    Json args_of(const Call& call) {
        Json json = Json::object();
        for (size_t i = 0; i < call.args.size(); ++i) {
            const Arg& arg = call.row->args()[i];
            const Value& value = call.args[i];
            const std::string place = fmt::format("{}: argument {}", call.row->function, arg.name);
            if (!is_null(value) && !fits(value, arg.kind)) {
                fail(internal_error(fmt::format("{} holds no {}", place, name(arg.kind))));
            }
            json[std::string(arg.name)] = std::visit([&](const auto& x) { return encode(x, place); }, value);
        }
        return json;
    }

    Json encode(std::monostate, const std::string&) { return nullptr; }
    Json encode(const TensorPtr& tensor, const std::string& place) {
        if (tensor == nullptr) return nullptr;
        const auto found = ids_.find(tensor.get());
        if (found != ids_.end()) return *found->second;
        fail(internal_error(place + " holds a tensor that is not the capture's"));
        return nullptr;
    }
    Json encode(const TensorList& list, const std::string& place) {
        Json json = Json::array();
        for (const TensorPtr& tensor : list) json.push_back(encode(tensor, place));
        return json;
    }
    Json encode(const Scalar& number, const std::string&) {
        const Json value = is_floating(number.dtype) ? json_number(number.real) : Json(number.integer);
        return {{"dtype", name(number.dtype)}, {"value", value}};
    }
    Json encode(double x, const std::string&) { return json_number(x); }
    Json encode(const diopiGeneratorHandle_t& handle, const std::string&) {
        if (handle == nullptr) return nullptr;
        return {{"seed", handle->seed}, {"offset", handle->offset}};
    }
    Json encode(const GeneratorList& list, const std::string& place) {
        Json json = Json::array();
        for (const diopiGeneratorHandle_t& handle : list) json.push_back(encode(handle, place));
        return json;
    }
    /// Integers, booleans, texts and lists of integers become the same JSON values.
    template <class T>
    Json encode(const T& x, const std::string&) {
        return x;
    }

    const Capture& capture_;
    std::unordered_map<const Tensor*, const std::string*> ids_;
    Status status_;
};

}  // namespace

Result<std::string> capture_to_json(const Capture& capture) { return Writer(capture).whole(); }

Result<std::string> tensors_to_json(const Capture& capture) { return Writer(capture).tensors(); }

}  // namespace diopi
