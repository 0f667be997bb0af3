/// What every exported library has besides its kernels and device functions: its name and its last error.
#include <diopi/functions.h>

#include <utility>

#include "runtime/context.hpp"

namespace diopi {

namespace {

thread_local std::string t_last_error;

}  // namespace

// Kernels that are linked in tell the program; here nobody else asks.
void set_last_error(std::string message) { t_last_error = std::move(message); }
const std::string& last_error() { return t_last_error; }

}  // namespace diopi

extern "C" {

// Hosts of the standard look for "Device" in it.
const char* diopiGetVendorName() { return DIOPI_IMPL_VENDOR; }
const char* diopiGetImplVersion() { return DIOPI_IMPL_VERSION; }
const char* diopiGetLastErrorString() { return diopi::last_error().c_str(); }

}  // extern "C"
