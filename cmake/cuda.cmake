# The cuda backend is built where a CUDA toolkit is; elsewhere it stays in the list of backends and says why it cannot
# run. The runtime is linked statically and looks for the driver at its first use, so the program starts without either.
set(DIOPI_CUDA "AUTO" CACHE STRING "Build the cuda backend: AUTO (where a CUDA toolkit is found), ON or OFF")
set_property(CACHE DIOPI_CUDA PROPERTY STRINGS AUTO ON OFF)
set(DIOPI_CUDA_ARCHITECTURES "90-real;80-virtual" CACHE STRING "What the cuda kernels are compiled for")

set(DIOPI_HAS_CUDA OFF)
if(NOT DIOPI_CUDA STREQUAL "OFF" AND NOT DIOPI_FUZZ)
    find_package(CUDAToolkit 12 QUIET)
    if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static)
        set(DIOPI_HAS_CUDA ON)
    endif()
endif()
if(DIOPI_HAS_CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
        set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    endif()
    # Its own test of the compiler must not fall back to an architecture that newer toolkits no longer know.
    set(CMAKE_CUDA_ARCHITECTURES ${DIOPI_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    # CMake 3.25 does not know how nvcc is told of C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    message(STATUS "cuda backend: built with CUDA ${CUDAToolkit_VERSION} for ${DIOPI_CUDA_ARCHITECTURES}")
elseif(DIOPI_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DIOPI_CUDA=ON, but no CUDA toolkit of version 12 or later with nvcc was found: put nvcc on "
                        "the PATH, set CUDAToolkit_ROOT, or build without the cuda backend (DIOPI_CUDA=OFF)")
elseif(NOT DIOPI_FUZZ)
    set(reason "no CUDA toolkit of version 12 or later with nvcc (PATH, CUDAToolkit_ROOT)")
    if(DIOPI_CUDA STREQUAL "OFF")
        set(reason "DIOPI_CUDA=OFF")
    endif()
    message(STATUS "cuda backend: not built, ${reason}")
endif()

# cuBLASLt, cuDNN and CUPTI are opened at their first use. The build needs their headers; what would call cuBLASLt or
# cuDNN without one is replaced by a file that says so, and without CUPTI traces lack the device's kernels.
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

# Small sources of kernels that are compiled as one: half of what each would cost are headers, read three times by nvcc.
set(diopi_cuda_families
    "products=linear linear_matmul product_copies product_sums product_tensors reduce_staging"
    "images=conv pool_adaptive pool_max"
    "steps=optim optim_adam random shape_sequence"
    "masks=activation activation_threshold index_masked index_where shape_triangle"
    "signs=elementwise_sign elementwise_ternary"
    "powers=elementwise_extreme elementwise_pow"
    "losses=loss_entropy loss_nll"
    "reductions=reduction reduction_index")

# The .cu files to compile: a file that includes the sources of a family in their place, but where each source is
# compiled by itself (quick_build.cmake).
function(diopi_cuda_sources result)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
    if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
        foreach(family ${diopi_cuda_families})
            string(REGEX MATCH "^([a-z]+)=(.*)$" matched ${family})
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

# The kernels: what is plain C++ is built, and tested, everywhere. Everything behind the program needs `target`.
function(diopi_add_cuda target)
    diopi_objects(diopi_cuda kernels/cuda/*.cpp)
    target_link_libraries(${target} INTERFACE diopi_cuda)
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:diopi_cuda>)
    set(absent libdiopi/runtime/no_cuda_device.cpp)
    if(NOT DIOPI_HAS_CUDA)
        set(absent libdiopi/runtime/cuda_device.cpp libdiopi/runtime/cuda_staging.cpp)
    endif()
    if(NOT DIOPI_HAS_CUDA OR NOT DIOPI_CUPTI)
        list(APPEND absent libdiopi/runtime/cupti.cpp)
    endif()
    set_source_files_properties(${absent} PROPERTIES HEADER_FILE_ONLY ON)
    if(NOT DIOPI_HAS_CUDA)
        return()
    endif()
    # Opened at its first use, by the name that its headers belong to.
    if(DIOPI_CUPTI)
        set_source_files_properties(libdiopi/runtime/cupti.cpp libdiopi/runtime/cuda_device.cpp PROPERTIES
            COMPILE_DEFINITIONS DIOPI_CUPTI_LIBRARY="libcupti.so.${CUDAToolkit_VERSION_MAJOR}"
            INCLUDE_DIRECTORIES ${DIOPI_CUPTI})
    endif()
    target_link_libraries(diopi_library PUBLIC CUDA::cudart_static)
    diopi_cuda_sources(sources)
    diopi_cuda_library_sources(library_sources)
    add_library(diopi_cuda_kernels OBJECT ${sources} ${library_sources})
    target_include_directories(diopi_cuda_kernels PRIVATE libdiopi/include libdiopi ${PROJECT_SOURCE_DIR})
    # No contraction: an expression rounds as it is written, and fma() stands where one is meant.
    # Relaxed constexpr: core's constexpr functions on the device, too.
    set(cuda_options --expt-relaxed-constexpr --fmad=false -Werror=all-warnings
                     -Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off)
    # The default in one pass of nvcc's front end instead of two: machine code for sm_90 of the PTX that others get.
    if(DIOPI_CUDA_ARCHITECTURES STREQUAL "90-real;80-virtual")
        set_target_properties(diopi_cuda_kernels PROPERTIES CUDA_ARCHITECTURES OFF)
        list(APPEND cuda_options "--generate-code=arch=compute_80,code=[compute_80,sm_90]")
    endif()
    target_compile_options(diopi_cuda_kernels PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>"
        "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-ffp-contract=off>")
    target_include_directories(diopi_cuda_kernels SYSTEM PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${DIOPI_CUDA_HEADERS}>")
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:diopi_cuda_kernels>)
endfunction()
