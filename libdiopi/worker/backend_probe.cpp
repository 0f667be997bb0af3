#include "worker/backend_probe.hpp"

#include "worker/worker_pool.hpp"

namespace diopi {

Status probe_backend(const Backend& backend, double timeout_s) {
    if (backend.probe() == nullptr) return {};
    PoolOptions pool;
    pool.timeout_s = timeout_s;
    pool.memory_limit = 0;
    Status tried;
    const auto work = [&](size_t) { return WorkAnswer{.status = backend.probe()()}; };
    const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
        tried = outcome.status;
        return {};
    };
    if (Status s = run_in_workers({0}, pool, work, done); !s.ok()) return s;
    if (interrupted()) return failed("interrupted while the device of " + std::string(backend.name()) + " was tried");
    if (tried.ok()) return {};
    return bad_input(std::string(backend.name()) + " cannot run here: " + tried.message());
}

}  // namespace diopi
