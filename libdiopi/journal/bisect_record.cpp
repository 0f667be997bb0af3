#include "journal/bisect_record.hpp"

namespace diopi {

std::string_view name(SearchEnd end) {
    switch (end) {
        case SearchEnd::kFound:
            return "found";
        case SearchEnd::kNothingWrong:
            return "nothing wrong";
        case SearchEnd::kElsewhere:
            return "elsewhere";
        case SearchEnd::kNotMonotone:
            return "not monotone";
        case SearchEnd::kTooMany:
            return "too many";
        case SearchEnd::kInterrupted:
            return "interrupted";
    }
    return "";
}

}  // namespace diopi
