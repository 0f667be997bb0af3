# libdiopi_gui.so: the window of diopi report --gui (docs/reports.md), which the program opens.
set(DIOPI_GUI AUTO CACHE STRING "Build the window of diopi report --gui: AUTO (where its libraries are), ON, OFF")
set_property(CACHE DIOPI_GUI PROPERTY STRINGS AUTO ON OFF)
set(DIOPI_HAS_GUI OFF)

if(NOT DIOPI_GUI STREQUAL "OFF" AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(GUI QUIET IMPORTED_TARGET imgui glfw3 gl libpng)
    set(DIOPI_HAS_GUI ${GUI_FOUND})
    set(how "apt-get install libimgui-dev libglfw3-dev libgl-dev libpng-dev")
    if(NOT DIOPI_HAS_GUI AND DIOPI_GUI STREQUAL "ON")
        message(FATAL_ERROR "DIOPI_GUI=ON: no Dear ImGui, GLFW, OpenGL or libpng; ${how}")
    elseif(NOT DIOPI_HAS_GUI)
        message(STATUS "diopi: no window for diopi report --gui: ${how}")
    endif()
endif()

if(DIOPI_HAS_GUI)
    message(STATUS "diopi: window of diopi report --gui with Dear ImGui ${GUI_imgui_VERSION}")
    file(GLOB gui_sources CONFIGURE_DEPENDS apps/diopi/gui/*.cpp)
    add_library(diopi_gui MODULE ${gui_sources})
    # The program has all other functions.
    target_include_directories(diopi_gui PRIVATE libdiopi/include libdiopi)
    target_link_libraries(diopi_gui PRIVATE diopi_flags PkgConfig::GUI fmt::fmt)
    target_compile_options(diopi_gui PRIVATE $<$<CONFIG:Release>:-O1>)
    diopi_compile_together(diopi_gui)
    add_dependencies(diopi diopi_gui)
    # The archive of scripts/package.sh leaves this component out.
    install(TARGETS diopi_gui LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT gui)
else()
    # What an earlier configuration of this folder has left.
    file(REMOVE ${PROJECT_BINARY_DIR}/lib/libdiopi_gui.so)
endif()
