/// The operator functions of the standard declared in functions_ext.inc, with C linkage.
#ifndef DIOPI_FUNCTIONS_EXT_H
#define DIOPI_FUNCTIONS_EXT_H

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <diopi/functions_ext.inc>

#ifdef __cplusplus
}
#endif

#endif
