/// The operator functions of the standard declared in functions_sparse.inc, with C linkage.
#ifndef DIOPI_FUNCTIONS_SPARSE_H
#define DIOPI_FUNCTIONS_SPARSE_H

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <diopi/functions_sparse.inc>

#ifdef __cplusplus
}
#endif

#endif
