/// The operator functions of the standard declared in functions_lmdeploy.inc, with C linkage.
#ifndef DIOPI_FUNCTIONS_LMDEPLOY_H
#define DIOPI_FUNCTIONS_LMDEPLOY_H

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <diopi/functions_lmdeploy.inc>

#ifdef __cplusplus
}
#endif

#endif
