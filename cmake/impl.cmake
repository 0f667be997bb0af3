# libdiopi_impl.so: a linked backend as a library for any host of the standard. It exports only the standard's
# functions, takes those of diopirt.h from the host, and needs nothing of this program.
#
# diopi_impl_library(target BACKEND name OBJECTS targets... SOURCES the device functions LIBRARIES ...
#                    VISIBLE pattern of more symbols, for tests)
# Kernels use kernels/operands and core besides their own objects, and core uses nothing.
function(diopi_impl_library target)
    cmake_parse_arguments(IMPL "" "BACKEND" "OBJECTS;SOURCES;LIBRARIES;VISIBLE" ${ARGN})
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target})
    file(MAKE_DIRECTORY ${folder})
    list(PREPEND IMPL_OBJECTS diopi_operands)
    list(TRANSFORM IMPL_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    file(GENERATE OUTPUT ${folder}/objects.txt CONTENT "$<JOIN:${objects},\n>\n")
    add_custom_command(
        OUTPUT ${folder}/options.txt ${folder}/visible.map
        COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DBACKEND=${IMPL_BACKEND} -DOBJECTS=${folder}/objects.txt
                -DOPTIONS=${folder}/options.txt -DSCRIPT=${folder}/visible.map -DVISIBLE=${IMPL_VISIBLE}
                -P ${PROJECT_SOURCE_DIR}/cmake/export_symbols.cmake
        DEPENDS ${objects} ${PROJECT_SOURCE_DIR}/cmake/export_symbols.cmake ${folder}/objects.txt
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${target}_symbols DEPENDS ${folder}/options.txt)
    add_library(${target} SHARED ${IMPL_SOURCES} ${PROJECT_SOURCE_DIR}/kernels/export/library.cpp ${objects}
                                 $<FILTER:$<TARGET_OBJECTS:diopi_loops>,INCLUDE,/libdiopi/core/>)
    add_dependencies(${target} ${target}_symbols)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/libdiopi/include ${PROJECT_SOURCE_DIR}/libdiopi)
    # DiopiCpuDevice, DiopiCudaDevice
    string(SUBSTRING ${IMPL_BACKEND} 0 1 first)
    string(SUBSTRING ${IMPL_BACKEND} 1 -1 rest)
    string(TOUPPER ${first} first)
    target_compile_definitions(${target} PRIVATE DIOPI_IMPL_VENDOR="Diopi${first}${rest}Device"
                                                 DIOPI_IMPL_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${target} PRIVATE diopi_flags ${IMPL_LIBRARIES})
    target_link_options(${target} PRIVATE -Wl,@${folder}/options.txt -Wl,--version-script=${folder}/visible.map
                                          -Wl,--gc-sections)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${folder}/options.txt)
endfunction()

diopi_impl_library(diopi_impl BACKEND cpu OBJECTS diopi_cpu SOURCES kernels/export/host_device.cpp
                   LIBRARIES DNNL::dnnl hwy::hwy OpenMP::OpenMP_CXX)
add_dependencies(installed diopi_impl)
install(TARGETS diopi_impl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Hosts look for this one name, so the libraries are in different folders.
if(DIOPI_HAS_CUDA)
    diopi_impl_library(diopi_impl_cuda BACKEND cuda OBJECTS diopi_cuda diopi_cuda_kernels
                       SOURCES kernels/export/cuda_device.cpp libdiopi/runtime/opened_library.cpp LIBRARIES CUDA::cudart_static)
    set_target_properties(diopi_impl_cuda PROPERTIES OUTPUT_NAME diopi_impl LINKER_LANGUAGE CXX
                                                     LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/cuda)
    add_dependencies(installed diopi_impl_cuda)
    install(TARGETS diopi_impl_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cuda)
endif()
