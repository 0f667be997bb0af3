# Every dependency is a package of Debian 12; scripts/install_dependencies.sh names them. Another oneDNN is found by
# dnnl_DIR (docs/building.md).
find_package(fmt 9 REQUIRED)
find_package(CLI11 2 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
if(NOT DIOPI_FUZZ)
    # Without a version: the package would refuse another major number than the wanted one.
    find_package(dnnl REQUIRED)
    if(dnnl_VERSION VERSION_LESS 2.6 OR dnnl_VERSION VERSION_GREATER_EQUAL 4)
        message(FATAL_ERROR "oneDNN ${dnnl_VERSION} in ${dnnl_DIR}: 2.6 to 3 is wanted")
    endif()
    message(STATUS "diopi: oneDNN ${dnnl_VERSION}")
    find_package(hwy 1 REQUIRED)
    find_package(OpenMP REQUIRED)
endif()
find_package(Threads REQUIRED)

# CMake's own FindHDF5 runs the compiler wrapper several times; pkg-config gives the same result.
find_package(PkgConfig REQUIRED)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
add_library(diopi_hdf5 INTERFACE)
target_link_libraries(diopi_hdf5 INTERFACE PkgConfig::HDF5)

pkg_check_modules(LIBELF IMPORTED_TARGET libelf)
if(NOT LIBELF_FOUND)
    message(FATAL_ERROR "libelf is missing: apt-get install libelf-dev, or run scripts/install_dependencies.sh")
endif()
add_library(diopi_elf INTERFACE)
target_link_libraries(diopi_elf INTERFACE PkgConfig::LIBELF)

find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_package(benchmark QUIET)
find_package(Catch2 2 QUIET)
