# The cuda backend is built if there are a CUDA toolkit and an NVIDIA driver; otherwise it is still in the list of
# backends and reports why it cannot run. The runtime is linked statically and looks for the driver at its first use, so
# the program starts without both. The kernels take two thirds of a build: a machine that cannot run them does not
# compile them.
include(${CMAKE_CURRENT_LIST_DIR}/cuda_driver.cmake)
set(DIOPI_CUDA "AUTO" CACHE STRING
    "Build the cuda backend: AUTO (where a CUDA toolkit and an NVIDIA driver are found), ON, CHECK (quickly) or OFF")
set_property(CACHE DIOPI_CUDA PROPERTY STRINGS AUTO ON CHECK OFF)
set(DIOPI_CUDA_ARCHITECTURES "90-real;80-virtual" CACHE STRING "Architectures of the cuda kernels")
if(NOT DIOPI_CUDA MATCHES "^(AUTO|ON|CHECK|OFF)$")
    message(FATAL_ERROR "DIOPI_CUDA=${DIOPI_CUDA}: it can be AUTO, ON, CHECK or OFF")
endif()
set(cuda_architectures ${DIOPI_CUDA_ARCHITECTURES})
if(DIOPI_CUDA STREQUAL "CHECK")
    set(cuda_architectures 80-virtual)
endif()

set(DIOPI_HAS_CUDA OFF)
set(DIOPI_NO_CUDA_REASON "DIOPI_CUDA=OFF")
if(NOT DIOPI_CUDA STREQUAL "OFF" AND NOT DIOPI_FUZZ)
    diopi_find_cuda_driver(has_driver)
    find_package(CUDAToolkit 12 QUIET)
    if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE OR NOT TARGET CUDA::cudart_static)
        set(DIOPI_NO_CUDA_REASON "no CUDA toolkit of version 12 or later with nvcc was found (PATH, CUDAToolkit_ROOT)")
    elseif(DIOPI_CUDA STREQUAL "AUTO" AND NOT has_driver)
        set(DIOPI_NO_CUDA_REASON "no NVIDIA driver was found (libcuda.so.1, /proc/driver/nvidia)")
    else()
        set(DIOPI_HAS_CUDA ON)
    endif()
endif()
if(DIOPI_HAS_CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
        set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    endif()
    # CMake's test of the compiler must not use an architecture that newer toolkits no longer support.
    set(CMAKE_CUDA_ARCHITECTURES ${cuda_architectures})
    enable_language(CUDA)
    # CMake 3.25 does not know nvcc's option for C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(DIOPI_CUDA_BUILD "built with CUDA ${CUDAToolkit_VERSION} for ${cuda_architectures}")
    if(DIOPI_CUDA STREQUAL "CHECK")
        # Optimisation is half of the time that the kernels take to compile.
        set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -Xcicc -O0 -DNDEBUG")
        string(APPEND DIOPI_CUDA_BUILD " without optimisation (DIOPI_CUDA=CHECK)")
    endif()
    message(STATUS "cuda backend: ${DIOPI_CUDA_BUILD}")
elseif(DIOPI_CUDA MATCHES "^(ON|CHECK)$")
    message(FATAL_ERROR "DIOPI_CUDA=${DIOPI_CUDA}, but no CUDA toolkit of version 12 or later with nvcc was found: put "
                        "nvcc on the PATH, set CUDAToolkit_ROOT, or build without the cuda backend (DIOPI_CUDA=OFF)")
elseif(NOT DIOPI_FUZZ)
    message(STATUS "cuda backend: not built: ${DIOPI_NO_CUDA_REASON}; DIOPI_CUDA=ON builds it wherever a toolkit is")
    # Removes the values that an earlier configuration of this folder has left.
    file(REMOVE ${PROJECT_BINARY_DIR}/lib/libcuda_on_host.so ${PROJECT_BINARY_DIR}/lib/cuda/libdiopi_impl.so)
endif()

# cuBLASLt, cuDNN and CUPTI are opened at their first use. The build needs their headers; without one, a file that
# reports this replaces the calls of cuBLASLt or cuDNN; without CUPTI, traces lack the device's kernels.
if(DIOPI_HAS_CUDA)
    find_path(DIOPI_CUBLASLT cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_path(DIOPI_CUDNN cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_path(DIOPI_CUPTI cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
    mark_as_advanced(DIOPI_CUBLASLT DIOPI_CUDNN DIOPI_CUPTI)
    set(DIOPI_CUDA_HEADERS ${CUDAToolkit_INCLUDE_DIRS})
    foreach(library CUBLASLT CUDNN CUPTI)
        if(DIOPI_${library})
            list(APPEND DIOPI_CUDA_HEADERS ${DIOPI_${library}})
        else()
            message(STATUS "cuda backend: built without ${library}, its header was not found (CUDAToolkit_ROOT)")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES DIOPI_CUDA_HEADERS)
endif()

# The sources that call them, built by the host's compiler.
function(diopi_cuda_library_sources result)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/libraries/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
    foreach(library cublaslt cudnn)
        string(TOUPPER DIOPI_${library} header)
        if(${header})
            list(FILTER sources EXCLUDE REGEX "/no_${library}\\.cpp$")
        else()
            list(FILTER sources EXCLUDE REGEX "/${library}[a-z_]*\\.cpp$")
        endif()
    endforeach()
    set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Small sources of kernels, compiled as one: headers, which nvcc reads three times, are half the cost of each. With
# DIOPI_CUDA=CHECK they are two thirds: all `sources` are in a few families, in turn.
function(diopi_cuda_families result)
    set(families
        "products=linear linear_matmul product/copies product/sums product/tensors reduce/staging"
        "images=conv pool_adaptive pool_max"
        "steps=optim optim_adam random shape_sequence"
        "masks=activation activation_threshold index_masked index_where shape_triangle"
        "signs=elementwise_sign elementwise_ternary"
        "powers=elementwise_extreme elementwise_pow"
        "reductions=reduction reduction_index")
    if(DIOPI_CUDA STREQUAL "CHECK")
        set(parts 7)
        set(next 0)
        foreach(source ${ARGN})
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/cuda)
            string(REGEX REPLACE "\\.cu$" "" member ${source})
            string(APPEND members_${next} " ${member}")
            math(EXPR next "(${next} + 1) % ${parts}")
        endforeach()
        set(families "")
        math(EXPR last "${parts} - 1")
        foreach(part RANGE ${last})
            list(APPEND families "part${part}=${members_${part}}")
        endforeach()
    endif()
    set(${result} ${families} PARENT_SCOPE)
endfunction()

# The .cu files to compile: one file that includes the sources of a family, unless each source is
# compiled alone (quick_build.cmake).
function(diopi_cuda_sources result)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu
                                       ${PROJECT_SOURCE_DIR}/kernels/cuda/*/*.cu)
    if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
        diopi_cuda_families(families ${sources})
        foreach(family ${families})
            string(REGEX MATCH "^([a-z0-9]+)=(.*)$" matched ${family})
            set(name ${CMAKE_MATCH_1})
            separate_arguments(members UNIX_COMMAND "${CMAKE_MATCH_2}")
            set(text "")
            foreach(member ${members})
                set(path ${PROJECT_SOURCE_DIR}/kernels/cuda/${member}.cu)
                list(REMOVE_ITEM sources ${path})
                string(APPEND text "#include \"${path}\"\n")
            endforeach()
            file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cuda_families/${name}.cu CONTENT "${text}" @ONLY)
            list(APPEND sources ${PROJECT_BINARY_DIR}/cuda_families/${name}.cu)
        endforeach()
    endif()
    set(${result} ${sources} PARENT_SCOPE)
endfunction()

# The kernels: their plain C++ parts are built and tested everywhere. All code except the command line needs `target`.
function(diopi_add_cuda target)
    diopi_objects(diopi_cuda kernels/cuda/*.cpp kernels/cuda/element/*.cpp kernels/cuda/product/*.cpp
                             kernels/cuda/reduce/*.cpp)
    target_link_libraries(${target} INTERFACE diopi_cuda)
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:diopi_cuda>)
    set(absent libdiopi/runtime/cuda/no_cuda_device.cpp)
    if(NOT DIOPI_HAS_CUDA)
        set(absent libdiopi/runtime/cuda/cuda_device.cpp libdiopi/runtime/cuda/cuda_staging.cpp)
    endif()
    if(NOT DIOPI_HAS_CUDA OR NOT DIOPI_CUPTI)
        list(APPEND absent libdiopi/runtime/cuda/cupti.cpp)
    endif()
    set_source_files_properties(${absent} PROPERTIES HEADER_FILE_ONLY ON)
    if(NOT DIOPI_HAS_CUDA)
        set_source_files_properties(libdiopi/runtime/cuda/no_cuda_device.cpp PROPERTIES
            COMPILE_DEFINITIONS DIOPI_NO_CUDA_REASON="${DIOPI_NO_CUDA_REASON}")
        return()
    endif()
    # The library is opened at its first use, by the name of the version of its headers.
    if(DIOPI_CUPTI)
        set_source_files_properties(libdiopi/runtime/cuda/cupti.cpp libdiopi/runtime/cuda/cuda_device.cpp PROPERTIES
            COMPILE_DEFINITIONS DIOPI_CUPTI_LIBRARY="libcupti.so.${CUDAToolkit_VERSION_MAJOR}"
            INCLUDE_DIRECTORIES ${DIOPI_CUPTI})
    endif()
    target_link_libraries(diopi_library PUBLIC CUDA::cudart_static)
    diopi_cuda_sources(sources)
    diopi_cuda_library_sources(library_sources)
    add_library(diopi_cuda_kernels OBJECT ${sources} ${library_sources})
    target_include_directories(diopi_cuda_kernels PRIVATE libdiopi/include libdiopi ${PROJECT_SOURCE_DIR})
    # No contraction: an expression rounds as it is written; a fused multiply-add is written as fma().
    # Relaxed constexpr: core's constexpr functions can also be called on the device.
    set(cuda_options --expt-relaxed-constexpr --fmad=false -Werror=all-warnings
                     -Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off)
    # The default takes one pass of nvcc's front end instead of two: machine code for sm_90 is made from the PTX for the
    # others.
    if(cuda_architectures STREQUAL "90-real;80-virtual")
        set_target_properties(diopi_cuda_kernels PROPERTIES CUDA_ARCHITECTURES OFF)
        list(APPEND cuda_options "--generate-code=arch=compute_80,code=[compute_80,sm_90]")
    endif()
    target_compile_options(diopi_cuda_kernels PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>"
        "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-ffp-contract=off>")
    target_include_directories(diopi_cuda_kernels SYSTEM PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${DIOPI_CUDA_HEADERS}>")
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:diopi_cuda_kernels>)
endfunction()
