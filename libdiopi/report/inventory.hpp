/// Lists of operators, functions, models, backends and cases, for `diopi list`.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "core/name_choice.hpp"
#include "core/status.hpp"
#include "report/listing.hpp"

namespace diopi {

/// The question that a listing answers.
struct Inquiry {
    std::string folder;                     ///< folder of the case files
    NameChoice names;                       ///< only these
    std::vector<const Backend*> libraries;  ///< they get a column
    const Backend* impl;                    ///< the library of `missing` and `implemented`
    bool missing = false, implemented = false;

    /// Whether it asks for something that `impl` has, or lacks.
    [[nodiscard]] bool shows(bool is_there) const { return missing ? !is_there : !implemented || is_there; }
};

/// The backends of the program, and this one.
[[nodiscard]] std::vector<const Backend*> libraries_with(const Backend* impl);

/// A row per operator: its family, the number of its functions and of the standard's cases, and the functions that each
/// library has.
[[nodiscard]] Result<Listing> operators_listing(const Inquiry& inquiry);
/// A row per C function; a name is that of the function or of its operator.
[[nodiscard]] Result<Listing> functions_listing(const Inquiry& inquiry);
[[nodiscard]] Result<Listing> models_listing(const Inquiry& inquiry);
[[nodiscard]] Result<Listing> backends_listing(const Inquiry& inquiry);
/// The ids of the standard's cases; a name is an id or an operator.
[[nodiscard]] Result<Listing> cases_listing(const Inquiry& inquiry);

}  // namespace diopi
