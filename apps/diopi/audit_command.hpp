/// diopi report --audit: what a library has and lacks, without loading it.
#pragma once

#include <string>

namespace diopi {

struct AuditCommand {
    std::string path;
    bool json = false;
    bool quiet = false;
};

/// Exit code: 0 where --impl can use the library as it is, 1 where something stands in the way, 2 for no ELF file.
int run_audit_command(const AuditCommand& options);

}  // namespace diopi
