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
    # The table, and how PyTorch does a function's work by it.
    add_library(torch_plans OBJECT libdiopi/aten/aten_call.cpp libdiopi/schema/rows.cpp kernels/torch/plan.cpp)
    add_executable(diopi_torch_table kernels/torch/table_main.cpp)
    # Half a minute of the optimiser for a program that runs for milliseconds.
    target_compile_options(diopi_torch_table PRIVATE -O0)
    add_library(diopi_torch SHARED kernels/export/library.cpp kernels/torch/call.cpp kernels/torch/device.cpp
                                   kernels/torch/tensors.cpp ${CMAKE_BINARY_DIR}/torch_entries.cpp)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/torch_entries.cpp
                       COMMAND diopi_torch_table --entries > ${CMAKE_BINARY_DIR}/torch_entries.cpp
                       DEPENDS diopi_torch_table VERBATIM)
    foreach(target torch_plans diopi_torch_table diopi_torch)
        target_include_directories(${target} PRIVATE libdiopi/include libdiopi ${PROJECT_SOURCE_DIR})
        target_include_directories(${target} SYSTEM PRIVATE ${DIOPI_TORCH_INCLUDE}
                                                            ${DIOPI_TORCH_INCLUDE}/torch/csrc/api/include)
        target_link_libraries(${target} PRIVATE diopi_flags ${DIOPI_TORCH_LIBRARY} ${DIOPI_C10_LIBRARY})
    endforeach()
    set_target_properties(torch_plans PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(diopi_torch_table PRIVATE torch_plans)
    target_link_libraries(diopi_torch PRIVATE torch_plans ${CMAKE_DL_LIBS})
    target_compile_definitions(diopi_torch PRIVATE DIOPI_IMPL_VENDOR="DiopiTorchDevice"
                                                   DIOPI_IMPL_VERSION="${PROJECT_VERSION}")
    # It has a library's own set_last_error and rows, which a host may not see.
    target_link_options(diopi_torch PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/torch.map)
endif()
