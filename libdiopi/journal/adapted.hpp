/// The conversions of an adaptor, for journals and reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace diopi {

/// Of one call, or of several of one function.
struct AdaptedCalls {
    int64_t calls = 0;  ///< 0: none was adapted
    int64_t conversions = 0;
    int64_t by_host = 0;                  ///< of them: those that the backend's own functions did not do
    int64_t nbytes = 0;                   ///< that the conversions read
    double seconds = 0;                   ///< that they took
    std::vector<std::string> casts = {};  ///< "float64 in float32": what was computed in which dtype

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

/// By the names of functions.
using AdaptedFunctions = std::map<std::string, AdaptedCalls>;

}  // namespace diopi
