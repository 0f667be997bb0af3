/// The operator functions of the standard declared in functions.inc, with C linkage.
#ifndef DIOPI_FUNCTIONS_H
#define DIOPI_FUNCTIONS_H

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <diopi/functions.inc>

#ifdef __cplusplus
}
#endif

#endif
