#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#ifdef __SANITIZE_ADDRESS__
/// Without a GPU the library keeps 192 bytes of the handle that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcublasLt\n"; }
/// Freed blocks that the sanitizer keeps for a while look like memory that a call leaves: it keeps fewer than the calls
/// take that confirm it (step/checks/resources.cpp).
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=4"; }
#endif
