/// Every function of the standard by name, none of which does anything.
#include "device.h"

#define DIOPI_ROW(function, ...) \
    extern "C" int function() { return diopiNoImplement; }
#include "schema/all.inc"
#undef DIOPI_ROW
