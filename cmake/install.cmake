# Headers, libraries, cases and a find_package(diopi) config.
include(CMakePackageConfigHelpers)

add_library(diopi_headers INTERFACE)
set_target_properties(diopi_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(diopi_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/libdiopi/include>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(diopi_shared PUBLIC diopi_headers)

# All targets that are installed, for scripts/package.sh.
add_custom_target(installed)
add_dependencies(installed diopi diopi_shared)
install(TARGETS diopi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS diopi_shared diopi_headers EXPORT diopi_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY libdiopi/include/diopi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY cases DESTINATION ${CMAKE_INSTALL_DATADIR}/diopi)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT diopi_targets NAMESPACE diopi:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diopi
        FILE diopi-targets.cmake)
set(package ${CMAKE_BINARY_DIR}/package)
configure_package_config_file(
    cmake/diopi-config.cmake.in ${package}/diopi-config.cmake PATH_VARS CMAKE_INSTALL_DATADIR
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diopi)
write_basic_package_version_file(${package}/diopi-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${package}/diopi-config.cmake ${package}/diopi-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/diopi)

# The build tree is a package, too: find_package looks there as soon as its bin/diopi is on the PATH.
export(EXPORT diopi_targets NAMESPACE diopi:: FILE ${CMAKE_BINARY_DIR}/diopi-targets.cmake)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/diopi-config.cmake @ONLY CONTENT
"include(\${CMAKE_CURRENT_LIST_DIR}/diopi-targets.cmake)
set(DIOPI_CASES_DIR \"@PROJECT_SOURCE_DIR@/cases\")
")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/diopi-config-version.cmake COMPATIBILITY SameMajorVersion)
