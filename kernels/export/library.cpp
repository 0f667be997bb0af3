/// The name and the last error of every exported library.
#include <diopi/functions.h>

#include <utility>

#include "runtime/context.hpp"

namespace diopi {

namespace {

thread_local std::string t_last_error;

}  // namespace

// In the program this sets the last error of the runtime; a library has its own.
void set_last_error(std::string message) { t_last_error = std::move(message); }
const std::string& last_error() { return t_last_error; }

}  // namespace diopi

extern "C" {

// Hosts of the standard look for "Device" in the name.
const char* diopiGetVendorName() { return DIOPI_IMPL_VENDOR; }
const char* diopiGetImplVersion() { return DIOPI_IMPL_VERSION; }
const char* diopiGetLastErrorString() { return diopi::last_error().c_str(); }

}  // extern "C"
