/* Ends the program with a message on a processor that lacks instructions for which it was compiled, before the first
   code that uses them. In C, because DIOPI_CPU_ARCH is for C++ sources only; source of the names: GCC's manual,
   __builtin_cpu_supports. */
#include <string.h>
#include <unistd.h>

/* Before the constructors of C++ objects, which have no priority. */
#define FIRST_OF_OURS 101

__attribute__((constructor(FIRST_OF_OURS))) static void require_processor(void) {
    static const char kMessage[] =
        "diopi: error: this processor does not have the instructions of " DIOPI_CPU_ARCH
        ", for which this program was built; DIOPI_CPU_ARCH=x86-64-v2 scripts/build.sh builds it for all processors "
        "since 2013\n";
    const int kBadUsage = 2; /* the exit code of what cannot run here */
    __builtin_cpu_init(); /* its own constructor comes later */
    if (__builtin_cpu_supports(DIOPI_CPU_ARCH)) return;
    const ssize_t written = write(STDERR_FILENO, kMessage, strlen(kMessage));
    (void)written;
    _exit(kBadUsage);
}
