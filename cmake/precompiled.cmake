# Precompiled headers keep a clean build short (docs/building.md). They hold none of our own, so that no edit
# makes them anew. Each source still names what it needs: the presets dev and tidy build without them.
if(DIOPI_TIDY OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    # clang reads none of GCC's, and ccache keeps nothing that was compiled with one.
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(precompiled_kernels <algorithm> <cmath> <cstring> <functional> <limits> <memory> <optional> <span> <string>
                        <string_view> <variant> <vector>)
set(precompiled_library ${precompiled_kernels} <fmt/format.h> <array> <set> <unordered_map> <utility>)
set(precompiled_program ${precompiled_library} <CLI/CLI.hpp> <filesystem> <nlohmann/json.hpp>)
set(precompiled_tests ${precompiled_library} <catch2/catch.hpp> <filesystem> <map>)

# The headers of a `kind` in front of each source of a target.
function(diopi_precompile target kind)
    target_precompile_headers(${target} PRIVATE ${precompiled_${kind}})
    # GCC 12 forgets there that std::string is a system header's, and takes its concatenation for an overflow
    # (PR 105651). Without precompiled headers, as in the preset dev, both warnings are on.
    if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
        target_compile_options(${target} PRIVATE
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow>)
    endif()
endfunction()
