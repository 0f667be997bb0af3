#include "backend/library_symbols.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "schema/schema.hpp"

namespace diopi {

namespace {

constexpr size_t kNeededOfDevice = 7;
constexpr std::array<std::string_view, 11> kDevice = {
    "device_malloc",      "device_free",           "device_memcpy_h2d_async",   "device_memcpy_d2h_async",
    "device_make_stream", "device_destroy_stream", "device_synchronize_stream", "device_memcpy_d2d_async",
    "initLibrary",        "finalizeLibrary",       "buildGeneratorState"};

constexpr std::array<std::string_view, 3> kQueries = {"diopiGetVendorName", "diopiGetImplVersion",
                                                      "diopiGetLastErrorString"};

constexpr std::array<std::string_view, 27> kRuntime = {"diopiGetVersion",
                                                       "diopiGetTensorData",
                                                       "diopiGetTensorDataConst",
                                                       "diopiGetTensorShape",
                                                       "diopiGetTensorStride",
                                                       "diopiGetTensorDtype",
                                                       "diopiGetTensorDevice",
                                                       "diopiGetTensorNumel",
                                                       "diopiGetTensorElemSize",
                                                       "diopiGetTensorStoragePtr",
                                                       "diopiGetTensorStorageOffset",
                                                       "diopiGetTensorStorageNbytes",
                                                       "diopiGetTensorDeviceIndex",
                                                       "diopiGetTensorCrowIndices",
                                                       "diopiGetTensorColIndices",
                                                       "diopiGetTensorValues",
                                                       "diopiIsTensorSparse",
                                                       "diopiGetCurrentDeviceIndex",
                                                       "diopiGetStream",
                                                       "diopiRequireTensor",
                                                       "diopiRequireBuffer",
                                                       "diopiGeneratorGetState",
                                                       "diopiGeneratorSetState",
                                                       "diopiGeneratorGetSeedAndOffset",
                                                       "diopiGeneratorSetSeedAndOffset",
                                                       "diopiRecordStart",
                                                       "diopiRecordEnd"};

using NameViews = std::unordered_set<std::string_view>;

template <class List>
bool contains(const List& list, std::string_view name) {
    return std::ranges::find(list, name) != std::end(list);
}

bool is_of_standard(std::string_view name) {
    return find_row(name) != nullptr || contains(kDevice, name) || contains(kQueries, name);
}

std::string demangled(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 ? text.get() : "";
}

/// The name of a function: "diopiAdd" for "vendor::diopiAdd(int)"; empty for anything else.
std::string_view function_in(std::string_view signature) {
    const size_t end = signature.find('(');
    if (end == std::string_view::npos) return {};
    const std::string_view name = signature.substr(0, end);
    const size_t scope = name.rfind("::");
    return scope == std::string_view::npos ? name : name.substr(scope + 2);
}

/// Whether the symbol may be of the standard; demangling all symbols of a large library takes long.
bool is_candidate(std::string_view symbol) {
    constexpr std::array<std::string_view, 4> kParts = {"diopi", "device_", "Library", "buildGenerator"};
    return symbol.starts_with("_Z") &&
           std::ranges::any_of(kParts, [&](auto part) { return symbol.find(part) != std::string_view::npos; });
}

/// A vendor may define both a C++ function of that name and the C function: only a missing C name is a mistake.
void note_mangled(const std::string& symbol, const NameViews& defined, LibrarySymbols& found) {
    if (!is_candidate(symbol)) return;
    const std::string signature = demangled(symbol);
    const std::string_view name = function_in(signature);
    if (!is_of_standard(name) || defined.contains(name)) return;
    if (std::ranges::find(found.mangled, name, &MangledSymbol::name) != found.mangled.end()) return;
    found.mangled.push_back({std::string(name), signature, symbol});
}

}  // namespace

bool LibrarySymbols::has(std::string_view device_function) const { return contains(device, device_function); }

LibrarySymbols symbols_of(const ElfFile& file) {
    LibrarySymbols found;
    NameViews defined;
    for (const ElfSymbol& symbol : file.symbols) {
        if (symbol.is_defined && symbol.is_function) defined.insert(symbol.name);
        if (!symbol.is_defined && !symbol.is_weak) found.undefined.push_back(symbol.name);
    }
    for (const Row& row : rows()) {
        (defined.contains(row.function) ? found.implemented : found.missing).emplace_back(row.function);
    }
    for (size_t i = 0; i < kDevice.size(); ++i) {
        if (defined.contains(kDevice[i]))
            found.device.emplace_back(kDevice[i]);
        else if (i < kNeededOfDevice)
            found.missing_device.emplace_back(kDevice[i]);
    }
    for (const ElfSymbol& symbol : file.symbols) {
        if (!symbol.is_defined || !symbol.is_function) continue;
        note_mangled(symbol.name, defined, found);
        if (contains(kQueries, symbol.name)) found.queries.push_back(symbol.name);
        if (contains(kRuntime, symbol.name)) found.own_runtime.push_back(symbol.name);
        const bool is_known = is_of_standard(symbol.name) || contains(kRuntime, symbol.name);
        if (symbol.name.starts_with("diopi") && !is_known) found.unknown.push_back(symbol.name);
    }
    return found;
}

std::string missing_device_text(const LibrarySymbols& symbols) {
    if (symbols.missing_device.empty()) return {};
    return fmt::format(
        "it has no {}; name the library that has them with --impl-runtime PATH, or give --impl-runtime cpu if its "
        "operators work on the host's memory",
        fmt::join(symbols.missing_device, ", "));
}

}  // namespace diopi
