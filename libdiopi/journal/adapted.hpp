/// The conversions of an adaptor, for journals and reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace diopi {

/// The conversions for one call, or for several of one function.
struct AdaptedCalls {
    int64_t calls = 0;  ///< 0: none was adapted
    int64_t conversions = 0;
    int64_t by_host = 0;                  ///< those of them that the backend's own functions did not do
    int64_t nbytes = 0;                   ///< bytes that the conversions read
    double seconds = 0;                   ///< time of the conversions
    std::vector<std::string> casts = {};  ///< "float64 in float32": a dtype and the one that computed for it

    AdaptedCalls& operator+=(const AdaptedCalls& other) {
        calls += other.calls;
        conversions += other.conversions;
        by_host += other.by_host;
        nbytes += other.nbytes;
        seconds += other.seconds;
        for (const std::string& cast : other.casts) {
            bool is_known = false;
            for (const std::string& known : casts) is_known = is_known || known == cast;
            if (!is_known) casts.push_back(cast);
        }
        return *this;
    }
};

/// The conversions by the names of functions.
using AdaptedFunctions = std::map<std::string, AdaptedCalls>;

}  // namespace diopi
