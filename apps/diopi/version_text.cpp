#include <H5public.h>
#include <fmt/format.h>
#include <hwy/highway.h>

#include <oneapi/dnnl/dnnl.h>
#include <CLI/Version.hpp>
#include <nlohmann/json_fwd.hpp>

#include "commands.hpp"

namespace diopi {

namespace {

/// The version of the standard.
constexpr const char* kAbiVersion = "1.0.0";

std::string compiler_text() {
#if defined(__clang__)
    return fmt::format("clang {}", __clang_version__);
#else
    return fmt::format("gcc {}", __VERSION__);
#endif
}

std::string hdf5_text() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

std::string onednn_text() {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

/// The instruction sets that this processor has, of those that the kernels are compiled for.
std::string vectors_text() {
    std::string text;
    const int64_t there = hwy::SupportedTargets();
    for (int64_t target = 1; target <= there && target > 0; target <<= 1) {
        if ((there & target) != 0) text += (text.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
    }
    return text;
}

}  // namespace

std::string version_text() {
    return fmt::format(
        "diopi {} (DIOPI ABI {})\n"
        "compiler: {}, {}\n"
        "sources of: {}\n"
        "libraries: {}, {}, fmt {}.{}.{}, CLI11 {}, JSON {}.{}.{}, Highway {}.{}.{}\n"
        "cuda: {}\n"
        "vectors: {}",
        DIOPI_PROGRAM_VERSION, kAbiVersion, compiler_text(), DIOPI_BUILD_TYPE, DIOPI_SOURCE_DATE, hdf5_text(),
        onednn_text(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, CLI11_VERSION,
        NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, HWY_MAJOR, HWY_MINOR,
        HWY_PATCH, DIOPI_CUDA_BUILD, vectors_text());
}

}  // namespace diopi
