# libdiopi_torch.so: the standard's functions by PyTorch (docs/torch.md).
set(DIOPI_TORCH AUTO CACHE STRING "Build libdiopi_torch.so: AUTO (where PyTorch's headers are), ON, OFF")
set(DIOPI_TORCH_PATH "" CACHE PATH "Folder of a PyTorch package, with include and lib; empty: the system's")
set(DIOPI_HAS_TORCH OFF)

if(NOT DIOPI_TORCH STREQUAL "OFF")
    if(DIOPI_TORCH_PATH)
        set(only_there NO_DEFAULT_PATH)
    endif()
    find_path(DIOPI_TORCH_INCLUDE ATen/core/dispatch/Dispatcher.h PATHS "${DIOPI_TORCH_PATH}/include" ${only_there})
    find_library(DIOPI_TORCH_LIBRARY torch_cpu PATHS "${DIOPI_TORCH_PATH}/lib" ${only_there})
    find_library(DIOPI_C10_LIBRARY c10 PATHS "${DIOPI_TORCH_PATH}/lib" ${only_there})
    if(DIOPI_TORCH_INCLUDE AND DIOPI_TORCH_LIBRARY AND DIOPI_C10_LIBRARY)
        set(DIOPI_HAS_TORCH ON)
    elseif(DIOPI_TORCH STREQUAL "ON")
        message(FATAL_ERROR "DIOPI_TORCH=ON: no PyTorch with headers; apt-get install libtorch-dev, or name the package's "
                            "folder with DIOPI_TORCH_PATH")
    endif()
endif()

if(DIOPI_HAS_TORCH)
    message(STATUS "diopi: libdiopi_torch.so with ${DIOPI_TORCH_LIBRARY}")
    set(table libdiopi/aten/aten_call.cpp libdiopi/schema/rows.cpp)
    add_executable(print_entries kernels/torch/print_entries.cpp ${table})
    # It runs once, for milliseconds.
    target_compile_options(print_entries PRIVATE -O0)
    add_library(diopi_torch SHARED ${table} kernels/export/host_device.cpp kernels/export/library.cpp
                                   kernels/torch/call.cpp kernels/torch/plan.cpp kernels/torch/tensors.cpp
                                   ${CMAKE_BINARY_DIR}/torch_entries.cpp)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/torch_entries.cpp
                       COMMAND print_entries > ${CMAKE_BINARY_DIR}/torch_entries.cpp VERBATIM)
    foreach(target print_entries diopi_torch)
        target_include_directories(${target} PRIVATE libdiopi/include libdiopi ${PROJECT_SOURCE_DIR})
        target_link_libraries(${target} PRIVATE diopi_flags)
    endforeach()
    target_include_directories(diopi_torch SYSTEM PRIVATE ${DIOPI_TORCH_INCLUDE}
                                                          ${DIOPI_TORCH_INCLUDE}/torch/csrc/api/include)
    target_compile_definitions(diopi_torch PRIVATE DIOPI_IMPL_VENDOR="DiopiTorchDevice"
                                                   DIOPI_IMPL_VERSION="${PROJECT_VERSION}")
    # It has a library's own set_last_error and rows, which a host may not see.
    target_link_options(diopi_torch PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/torch.map)
    target_link_libraries(diopi_torch PRIVATE ${DIOPI_TORCH_LIBRARY} ${DIOPI_C10_LIBRARY})
endif()
