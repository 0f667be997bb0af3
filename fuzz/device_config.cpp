#include "cases/device_config.hpp"

#include "fuzz/targets.hpp"

namespace diopi::fuzz {

namespace {

CaseTensor tensor(const char* name, Dtype dtype) {
    CaseTensor out;
    out.name = name;
    out.specs = {{{2, 3}, dtype, {}}};
    return out;
}

std::vector<Case> some_cases() {
    Case c;
    c.suite = "ops";
    c.group = "pointwise_binary";
    c.op = "add";
    c.backward = true;
    c.tensors = {tensor("input", Dtype::float32), tensor("other", Dtype::int64)};
    c.params = {{"alpha", Param{2.5}}, {"dims", Param{std::vector<Param>{{int64_t{0}}, {int64_t{1}}}}}};
    Case list = c;
    list.op = "cat";
    list.tensors[0].is_list = true;
    return {c, list};
}

}  // namespace

/// A device configuration: it is read and applied to a few cases.
bool device_config(std::string_view bytes) {
    const auto config = parse_device_config(bytes, "fuzz.json");
    if (!config.ok()) return false;
    std::vector<Case> cases = some_cases();
    static_cast<void>(apply_device_config(*config, cases));
    for (const Case& c : cases) static_cast<void>(config->skip_reason(c));
    for (const DeviceRule& rule : config->rules) static_cast<void>(rule.effect());
    return true;
}

}  // namespace diopi::fuzz
