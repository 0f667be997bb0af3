/// The catalogue of cases. Files are read only as far as needed, groups are expanded on demand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case_file.hpp"
#include "core/name_choice.hpp"
#include "core/status.hpp"

namespace diopi {

/// The number of cases, and how many of them also run in place, backward, or are random.
struct CaseCounts {
    int64_t total = 0, inplace = 0, backward = 0, random = 0;
    CaseCounts& operator+=(const CaseCounts& other);
    bool operator==(const CaseCounts&) const = default;
};

/// The cases of a group: every operator with every entry, row of dtypes and sparse combination, nested in that order.
[[nodiscard]] std::vector<Case> expand(const CaseGroup& group);
/// The cases of those of its operators that the list has.
[[nodiscard]] std::vector<Case> expand(const CaseGroup& group, const NameChoice& ops);
/// The counts of expand(group), without expanding it.
[[nodiscard]] CaseCounts count(const CaseGroup& group);

/// The case files to read.
struct CaseSelection {
    bool ops = true;                  ///< all of ops/*.json
    bool all_models = false;          ///< all of models/*.json
    std::vector<std::string> models;  ///< models by name
    std::vector<std::string> files;   ///< case files of the user

    /// The files that are needed to find the case with that id.
    [[nodiscard]] static CaseSelection for_id(std::string_view id);
};

/// Names of the models in folder/models, sorted; no file is opened.
[[nodiscard]] std::vector<std::string> list_models(const std::string& folder);

class Catalogue {
 public:
    /// Reads the selected files of a cases folder, sorted by name. An unknown model is refused with suggestions, and a
    /// group that two files define for one suite with both places.
    [[nodiscard]] static Result<Catalogue> load(const std::string& folder, const CaseSelection& selection = {});

    [[nodiscard]] std::span<const CaseGroup> groups() const { return groups_; }
    /// Operators that any case has, sorted.
    [[nodiscard]] std::vector<std::string> list_ops() const;
    /// "ops" when operator files were read, then the models, in the order of the files.
    [[nodiscard]] std::vector<std::string> suites() const;

    /// All cases of the operators; an item that is no operator of a case is refused with suggestions.
    [[nodiscard]] Result<std::vector<Case>> cases_of(const NameChoice& ops = {}) const;
    /// The case of an id such as "ops/pointwise_binary.add.17"; the message names the part of the id that fails.
    [[nodiscard]] Result<Case> find(std::string_view id) const;
    /// The place of a case's group: "cases/ops/conv.json:12: /groups/0".
    [[nodiscard]] std::string place_of(const Case& c) const;

 private:
    Status add_file(const std::string& path, std::string_view suite);

    std::vector<CaseGroup> groups_;
};

}  // namespace diopi
