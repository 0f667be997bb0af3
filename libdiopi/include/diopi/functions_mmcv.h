/// The operator functions of the standard declared in functions_mmcv.inc, with C linkage.
#ifndef DIOPI_FUNCTIONS_MMCV_H
#define DIOPI_FUNCTIONS_MMCV_H

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <diopi/functions_mmcv.inc>

#ifdef __cplusplus
}
#endif

#endif
