#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#ifdef __SANITIZE_ADDRESS__
/// Without a GPU the library keeps 192 bytes of the handle that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcublasLt\n"; }
#endif
