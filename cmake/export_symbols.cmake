# Run by cmake -P: writes linker options that give the functions of a backend, which are in namespace diopi::BACKEND,
# their C names, and a version script that hides all other symbols. Reads the object files in OBJECTS (a file with a
# name per line) with NM, writes OPTIONS and SCRIPT. The version script also exports the symbols of the pattern VISIBLE,
# if it is given.
file(STRINGS ${OBJECTS} objects)
list(FILTER objects EXCLUDE REGEX "\\.gch$")
execute_process(COMMAND ${NM} --defined-only ${objects} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(LENGTH ${BACKEND} length)
string(REGEX MATCHALL "_ZN5diopi${length}${BACKEND}[0-9]+diopi[A-Za-z0-9_]+" symbols "${table}")
list(REMOVE_DUPLICATES symbols)
set(options "")
set(script "{ global: device_*; initLibrary; finalizeLibrary; diopiGetVendorName; diopiGetImplVersion; diopiGetLastErrorString;\n")
if(VISIBLE)
    string(APPEND script "${VISIBLE};\n")
endif()
foreach(symbol ${symbols})
    # Function parts that the compiler split off, and templates and lambdas inside a function, have other names.
    string(REGEX REPLACE "^_ZN5diopi${length}${BACKEND}([0-9]+)diopi.*" "\\1" count ${symbol})
    string(REGEX REPLACE "^_ZN5diopi${length}${BACKEND}[0-9]+" "" rest ${symbol})
    string(SUBSTRING ${rest} 0 ${count} name)
    string(SUBSTRING ${rest} ${count} 1 after)
    if(after STREQUAL "E")
        string(APPEND options "--defsym=${name}=${symbol}\n")
        string(APPEND script "${name};\n")
    endif()
endforeach()
string(APPEND script "local: *; };\n")
file(WRITE ${OPTIONS} "${options}")
file(WRITE ${SCRIPT} "${script}")
