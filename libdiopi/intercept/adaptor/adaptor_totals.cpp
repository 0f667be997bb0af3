#include "intercept/adaptor/adaptor_totals.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

namespace diopi {

namespace {

constexpr size_t kDtypes = 17;

struct Direction {
    std::atomic<int64_t> count, by_host, nbytes, nanoseconds;

    void add(const ConversionFigures& figures) {
        count += figures.count;
        by_host += figures.by_host;
        nbytes += figures.nbytes;
        nanoseconds += std::llround(figures.seconds * 1e9);
    }
    [[nodiscard]] ConversionFigures figures() const {
        return {count, by_host, nbytes, static_cast<double>(nanoseconds) * 1e-9};
    }
};

}  // namespace

struct AdaptorTotals::Counters {
    std::atomic<int64_t> calls;
    Direction in, out;
    std::atomic<uint32_t> casts[kDtypes];  ///< indexed by the dtype before the cast: a bit for each dtype after it
};

std::string to_string(const std::vector<DtypeCast>& casts) {
    std::string text;
    for (const DtypeCast& cast : casts) {
        text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", name(cast.from), name(cast.to));
    }
    return text;
}

AdaptedCalls to_record(int64_t calls, const ConversionFigures& in, const ConversionFigures& out,
                       const std::vector<DtypeCast>& casts) {
    ConversionFigures both = in;
    both += out;
    AdaptedCalls record{calls, both.count, both.by_host, both.nbytes, both.seconds};
    for (const DtypeCast& cast : casts) record.casts.push_back(to_string({cast}));
    return record;
}

Result<AdaptorTotals> AdaptorTotals::create() {
    const size_t nbytes = rows().size() * sizeof(Counters);
    void* memory = ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return failed(std::string("cannot map pages for the workers: ") + std::strerror(errno));
    // The mapped memory is zero, and so are its counters.
    return AdaptorTotals(static_cast<Counters*>(memory));
}

AdaptorTotals::AdaptorTotals(AdaptorTotals&& other) noexcept : counters_(std::exchange(other.counters_, nullptr)) {}

AdaptorTotals::~AdaptorTotals() {
    if (counters_ != nullptr) ::munmap(counters_, rows().size() * sizeof(Counters));
}

void AdaptorTotals::add(const Row& row, const AdaptedCall& call) {
    Counters& counters = counters_[row.index()];
    ++counters.calls;
    counters.in.add(call.in);
    counters.out.add(call.out);
    for (const DtypeCast& cast : call.casts) {
        counters.casts[static_cast<size_t>(cast.from)] |= uint32_t{1} << static_cast<unsigned>(cast.to);
    }
}

std::vector<AdaptedFunction> AdaptorTotals::functions() const {
    std::vector<AdaptedFunction> functions;
    for (const Row& row : rows()) {
        const Counters& counters = counters_[row.index()];
        if (counters.calls == 0) continue;
        AdaptedFunction& function = functions.emplace_back();
        function.row = &row;
        function.calls = counters.calls;
        function.in = counters.in.figures();
        function.out = counters.out.figures();
        for (size_t from = 0; from < kDtypes; ++from) {
            for (size_t to = 0; to < kDtypes; ++to) {
                const bool is_cast = (counters.casts[from] & (uint32_t{1} << to)) != 0;
                if (is_cast) function.casts.push_back({static_cast<Dtype>(from), static_cast<Dtype>(to)});
            }
        }
    }
    return functions;
}

}  // namespace diopi
