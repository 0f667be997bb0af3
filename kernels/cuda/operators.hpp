/// The functions of the standard, declared in the namespace of the cuda backend.
#pragma once

#include <diopi/diopirt.h>

namespace diopi::cuda {
#include <diopi/functions.inc>
#include <diopi/functions_ext.inc>
#include <diopi/functions_lmdeploy.inc>
#include <diopi/functions_mmcv.inc>
#include <diopi/functions_sparse.inc>
}  // namespace diopi::cuda
