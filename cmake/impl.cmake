# libdiopi_impl.so: a linked backend as a library for any host of the standard. Only the standard's functions are seen,
# those of diopirt.h are left to the host, and nothing of this program is needed.
set(impl_folder ${CMAKE_BINARY_DIR}/impl)
file(MAKE_DIRECTORY ${impl_folder})
set(impl_objects ${impl_folder}/objects.txt)
file(GENERATE OUTPUT ${impl_objects} CONTENT "$<JOIN:$<TARGET_OBJECTS:diopi_cpu>,\n>\n")
add_custom_command(
    OUTPUT ${impl_folder}/options.txt ${impl_folder}/visible.map
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DBACKEND=cpu -DOBJECTS=${impl_objects}
            -DOPTIONS=${impl_folder}/options.txt -DSCRIPT=${impl_folder}/visible.map
            -P ${PROJECT_SOURCE_DIR}/cmake/export_symbols.cmake
    DEPENDS $<TARGET_OBJECTS:diopi_cpu> ${PROJECT_SOURCE_DIR}/cmake/export_symbols.cmake ${impl_objects}
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(diopi_impl_symbols DEPENDS ${impl_folder}/options.txt)

# Of the rest of our code kernels use core alone, and it uses nothing.
add_library(diopi_impl SHARED kernels/export/host_device.cpp $<TARGET_OBJECTS:diopi_cpu>
                              $<FILTER:$<TARGET_OBJECTS:diopi_library>,INCLUDE,/libdiopi/core/>)
add_dependencies(diopi_impl diopi_impl_symbols)
target_include_directories(diopi_impl PRIVATE libdiopi/include libdiopi)
target_link_libraries(diopi_impl PRIVATE diopi_flags DNNL::dnnl OpenMP::OpenMP_CXX)
target_link_options(diopi_impl PRIVATE -Wl,@${impl_folder}/options.txt
                                       -Wl,--version-script=${impl_folder}/visible.map -Wl,--gc-sections)
set_target_properties(diopi_impl PROPERTIES LINK_DEPENDS ${impl_folder}/options.txt)
install(TARGETS diopi_impl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
