/// The libFuzzer program: `fuzz --target=NAME`, then libFuzzer's own options.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/targets.hpp"

namespace {

const diopi::fuzz::Target* g_target = nullptr;

constexpr std::string_view kFlag = "--target=";

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    for (int i = 1; i < *argc; ++i) {
        const std::string_view argument = (*argv)[i];
        if (argument.starts_with(kFlag)) g_target = diopi::fuzz::find_target(argument.substr(kFlag.size()));
    }
    if (g_target != nullptr) return 0;
    std::fprintf(stderr, "fuzz: name a target with --target=NAME; there are:");
    for (const auto& target : diopi::fuzz::kTargets) std::fprintf(stderr, " %s", target.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static_cast<void>(g_target->run({reinterpret_cast<const char*>(data), size}));
    return 0;
}
