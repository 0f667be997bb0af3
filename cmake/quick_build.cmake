# Precompiled headers, and the sources of a folder compiled together, keep a clean build short (docs/building.md). None
# of our own headers is precompiled, so that no edit rebuilds them. Each source still includes what it needs and
# compiles alone: the presets dev and tidy build it so.
if(DIOPI_TIDY OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    # clang cannot read GCC's precompiled headers, and ccache does not cache sources compiled with one.
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(precompiled_library <algorithm> <array> <cmath> <complex> <cstring> <fmt/format.h> <functional> <limits> <memory>
                        <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
set(precompiled_tests ${precompiled_library} <catch2/catch.hpp> <filesystem> <map>)

# Includes the headers of a `kind` before each source of a target, or, after FROM, those of a target with the same
# options, which are not compiled again.
function(diopi_precompile target kind)
    if(kind STREQUAL FROM)
        target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
        target_precompile_headers(${target} PRIVATE ${precompiled_${kind}})
    endif()
    # There GCC 12 does not treat std::string as a system header's type, and takes its concatenation for an overflow
    # (PR 105651). Without precompiled headers, as in the preset dev, both warnings are on.
    if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
        target_compile_options(${target} PRIVATE
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow>)
    endif()
endfunction()

# Compiles the target's sources of each folder as one, except those whose names match a regular expression after ALONE.
# In the unnamed namespaces of such a folder a name may be defined only once: the wrong one of two functions might be
# called.
function(diopi_compile_together target)
    cmake_parse_arguments(TOGETHER "" "" "ALONE" ${ARGN})
    if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(expression ${TOGETHER_ALONE})
        list(FILTER sources EXCLUDE REGEX "${expression}")
    endforeach()
    foreach(source ${sources})
        get_filename_component(folder ${source} ABSOLUTE)
        get_filename_component(folder ${folder} DIRECTORY)
        file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
        string(REPLACE "/" "_" folder ${folder})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # GCC treats these sources as headers, whose classes may not have members of unnamed types. It takes a fifth less time
    # for them if it collects its garbage only from half a GiB on.
    set(is_gnu "$<COMPILE_LANG_AND_ID:CXX,GNU>")
    target_compile_options(${target} PRIVATE
        "$<${is_gnu}:-Wno-subobject-linkage;--param=ggc-min-expand=1000;--param=ggc-min-heapsize=524288>")
endfunction()
