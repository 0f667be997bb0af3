/// Finds the cases of a run that a user names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case_expression.hpp"
#include "cases/catalogue.hpp"
#include "core/name_choice.hpp"
#include "core/status.hpp"

namespace diopi {

struct CaseChoice {
    std::string folder;              ///< folder of the case files
    std::vector<std::string> files;  ///< case files of the user
    std::string model;               ///< the cases of a model, or of "all"; if empty, those of the operators
    NameChoice ids;                  ///< cases by id; a glob selects of the cases that the others choose
    NameChoice ops;                  ///< operators that the cases must have
    CaseExpression expression;       ///< selects of all these
    int level = 1;                   ///< 1: the cases of the files; 2: and a choice of hard cases; 3: and all of them
    uint64_t seed = 0;               ///< of the hard cases
    bool refusals = false;           ///< and bad calls
    /// The generated cases that may be named by their ids: a stored baseline is of none, and only a test makes bad
    /// calls.
    enum class Generated : uint8_t { kNone, kHard, kAll } generated = Generated::kHard;
};

/// Whether the standard has an operator of this name.
[[nodiscard]] bool is_operator(std::string_view name);

/// Refuses a folder of case files that is not there.
[[nodiscard]] Status check_cases_folder(const std::string& folder);

/// Reads the case files that the choice needs.
[[nodiscard]] Result<Catalogue> load_catalogue(const CaseChoice& choice);

/// The chosen cases of the files, and generated ones that are named or, with a backend, of the choice's level. A choice
/// that leaves no case is bad input.
[[nodiscard]] Result<std::vector<Case>> select_cases(const CaseChoice& choice, const Catalogue& catalogue,
                                                     const Backend* backend = nullptr);

/// Reads the case files, selects, and plans every case that `backend` implements before the first one runs. A file that
/// contradicts itself is bad input, named by file, line and JSON pointer, and so is a user's file with an operator that
/// the standard does not have.
[[nodiscard]] Result<std::vector<Case>> choose_cases(const CaseChoice& choice, const Backend& backend);

/// The hard cases of the chosen operators that `backend` has, for the choice's level and seed, and their bad calls;
/// none where it names a model or files.
[[nodiscard]] std::vector<Case> generated_cases(const CaseChoice& choice, const Backend& backend);

/// The operators of these cases that no hard cases are made for, with the reason.
[[nodiscard]] std::map<std::string, std::string> operators_without_hard_cases(const std::vector<Case>& cases);

/// The cases with these ids, in their order, planned in the same way; the choice itself names no cases.
[[nodiscard]] Result<std::vector<Case>> choose_cases_in_order(const CaseChoice& choice,
                                                              const std::vector<std::string>& ids,
                                                              const Backend& backend);

}  // namespace diopi
