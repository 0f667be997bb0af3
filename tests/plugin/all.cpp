/// All functions of the standard, with empty bodies.
#include "device.h"

#define DIOPI_ROW(function, ...) \
    extern "C" int function() { return diopiNoImplement; }
#include "schema/all.inc"
#undef DIOPI_ROW
