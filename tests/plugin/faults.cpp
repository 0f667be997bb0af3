/// Faults of vendors' libraries, one for each build.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "device.h"

#ifdef FAULT_CRASH
[[gnu::constructor]] static void crash() { std::raise(SIGSEGV); }
#endif

#ifdef FAULT_EXIT
[[gnu::constructor]] static void leave() { std::exit(7); }
#endif

#ifdef FAULT_INIT_HANG
extern "C" diopiError_t initLibrary() {
    for (;;) pause();
}
#endif

#ifdef FAULT_INIT_ERROR
extern "C" diopiError_t initLibrary() { return diopiNotInited; }
#endif

#ifdef FAULT_INIT_ONCE
extern "C" diopiError_t initLibrary() {
    static int calls = 0;
    return ++calls == 1 ? diopiSuccess : diopiErrorOccurred;
}
#endif

#ifdef FAULT_FINALIZE_HANG
extern "C" diopiError_t finalizeLibrary() {
    for (;;) pause();
}
#endif

#ifdef FAULT_PRINT
[[gnu::constructor]] static void print() {
    std::puts("vendor banner");
    std::fflush(stdout);
}
#endif

#ifdef FAULT_THREAD
extern "C" diopiError_t initLibrary() {
    std::thread([] {
        for (;;) pause();
    }).detach();
    return diopiSuccess;
}
#endif

#ifdef FAULT_UNRESOLVED
extern "C" int vendor_helper_that_is_nowhere();
extern "C" int vendor_uses_helper() { return vendor_helper_that_is_nowhere(); }
#endif

#ifdef FAULT_NEEDS_LOST
extern "C" int plugin_gone();
extern "C" int vendor_uses_gone() { return plugin_gone(); }
#endif

#ifdef FAULT_UNKNOWN
extern "C" diopiError_t diopiReluu(diopiContextHandle_t) { return diopiSuccess; }
extern "C" diopiError_t diopiGetStream(diopiContextHandle_t, diopiStreamHandle_t*) { return diopiSuccess; }
#endif

#ifdef FAULT_MANGLED
/// The header of the operators is not included, so that these have no C linkage.
diopiError_t diopiSigmoid(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
#endif
