/// The functions of the standard, declared in the namespace of the reference backend.
#pragma once

#include <diopi/diopirt.h>

namespace diopi::reference {
#include <diopi/functions.inc>
#include <diopi/functions_ext.inc>
#include <diopi/functions_lmdeploy.inc>
#include <diopi/functions_mmcv.inc>
#include <diopi/functions_sparse.inc>
}  // namespace diopi::reference
