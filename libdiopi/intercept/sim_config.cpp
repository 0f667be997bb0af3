#include "intercept/sim_config.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "json/json_reader.hpp"

namespace diopi {

namespace {

constexpr std::array kKeys = {"$schema",   "name",   "copy",   "kernel",  "memory_gib",
                              "operators", "except", "dtypes", "layouts", "converts"};
constexpr std::array kCopyKeys = {"latency_us", "gigabytes_per_second"};
constexpr std::array kKernelKeys = {"launch_us", "slowdown"};

class SimReader : public JsonReader {
 public:
    using JsonReader::JsonReader;
    using JsonReader::read;

    bool read(SimOptions& options) {
        if (!check_keys(root(), kKeys)) return false;
        const JsonNode* label = root().find("name");
        if (label != nullptr && !read_text(*label, "the name of the device", options.model.name)) return false;
        if (options.model.name.empty()) return fail(*label, "the name of the device is empty");
        if (const JsonNode* copy = root().find("copy"); copy && !read_copy(*copy, options.model)) return false;
        if (const JsonNode* kernel = root().find("kernel"); kernel && !read_kernel(*kernel, options.model))
            return false;
        double gib = static_cast<double>(options.model.memory_bytes) * 0x1p-30;
        if (!read_positive(root(), "memory_gib", 1 << 20, gib)) return false;
        options.model.memory_bytes = static_cast<int64_t>(gib * 0x1p30);
        if (!read_names("operators", options.operators) || !read_names("except", options.except)) return false;
        const JsonNode* dtypes = root().find("dtypes");
        if (dtypes != nullptr && !read_dtypes(*dtypes, options.dtypes)) return false;
        if (const JsonNode* layouts = root().find("layouts"); layouts && !read_layouts(*layouts, options)) return false;
        const JsonNode* converts = root().find("converts");
        return converts == nullptr || read(*converts, options.converts);
    }

 private:
    bool read_copy(const JsonNode& node, SimModel& model) {
        double latency_us = model.copy_latency_s * 1e6, rate = model.copy_bytes_per_s * 1e-9;
        if (!check_keys(node, kCopyKeys) || !read_seconds(node, "latency_us", latency_us) ||
            !read_positive(node, "gigabytes_per_second", 1e9, rate)) {
            return false;
        }
        model.copy_latency_s = latency_us * 1e-6;
        model.copy_bytes_per_s = rate * 1e9;
        return true;
    }

    bool read_kernel(const JsonNode& node, SimModel& model) {
        double launch_us = model.launch_s * 1e6;
        if (!check_keys(node, kKernelKeys) || !read_seconds(node, "launch_us", launch_us) ||
            !read_positive(node, "slowdown", 1e6, model.slowdown)) {
            return false;
        }
        model.launch_s = launch_us * 1e-6;
        if (model.slowdown >= 1) return true;
        return fail(*node.find("slowdown"),
                    "a device that runs on this machine's processor is not faster than it; "
                    "expected 1 or more");
    }

    /// Reads microseconds from 0 to a minute; `value` stays if the key is missing.
    bool read_seconds(const JsonNode& object, const char* key, double& value) {
        const JsonNode* node = object.find(key);
        if (node == nullptr) return true;
        if (!read_number(*node, value)) return false;
        return (value >= 0 && value <= 60e6) || fail(*node, "expected microseconds from 0 to 60000000");
    }

    bool read_positive(const JsonNode& object, const char* key, double most, double& value) {
        const JsonNode* node = object.find(key);
        if (node == nullptr) return true;
        if (!read_number(*node, value)) return false;
        return (value > 0 && value <= most) ||
               fail(*node, fmt::format("expected a number above 0, {:.0f} at most", most));
    }

    /// Reads a list of layouts; only ["contiguous"] is allowed.
    bool read_layouts(const JsonNode& node, SimOptions& options) {
        if (!read_list(node, "a list of layouts")) return false;
        for (const JsonNode& item : node.items) {
            std::string word;
            if (!read_text(item, "a layout", word)) return false;
            if (word != "contiguous") return unknown(item, "layout", word, std::array<std::string, 1>{"contiguous"});
        }
        options.contiguous = true;
        return true;
    }

    bool read_names(const char* key, std::optional<NameList>& names) {
        const JsonNode* node = root().find(key);
        if (node == nullptr) return true;
        if (!read_list(*node, "a list of operators")) return false;
        std::string text;
        for (const JsonNode& item : node->items) {
            std::string word;
            if (!read_text(item, "an operator, or a regular expression", word)) return false;
            if (word.empty()) return fail(item, "an empty text names no operator; write .* for all of them");
            if (word.find(',') != std::string::npos) return fail(item, "a comma separates operators: write two texts");
            text += word + ",";
        }
        auto parsed = NameList::parse(text);
        if (!parsed.ok()) return fail(*node, parsed.error().message);
        names = std::move(*parsed);
        return true;
    }
};

}  // namespace

Result<SimOptions> sim_config_from(std::string_view text, const std::string& file) {
    const auto root = parse_json(text, file);
    if (!root.ok()) return root.error();
    SimOptions options;
    SimReader reader(file, *root);
    if (!reader.read(options)) return reader.error();
    return options;
}

Result<SimOptions> read_sim_config(const std::string& path) {
    const auto text = read_json_text(path, "device file");
    if (!text.ok()) return text.error();
    return sim_config_from(*text, path);
}

}  // namespace diopi
