/// Ways to make a case simpler, for shrink.hpp: each is a list of edits, the largest ones first.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cases/case.hpp"

namespace diopi {

/// Changes a case; false when there is nothing to change. An edit finds its target by name or by size, so that
/// it can be tried on the result of earlier edits.
using Edit = std::function<bool(Case&)>;

struct Reduction {
    std::string_view name;  ///< "dims", "values", ...
    std::vector<Edit> (*edits)(const Case&);
};

/// All reductions, in the order in which they are tried. No reduction undoes another.
///
/// steps: neither in place nor backward. dims: every size becomes 1, N/2, 3N/4, ..., N-1 (and the last eight), in all
/// tensors together (with or without parameters), then single dims; an index that points into such a dim follows.
/// layout, strides: row-major. optional: tensors that may be absent. lists: fewer elements. params: left out, or 0, 1,
/// false. ranks: without dims of size 1, two dims as one. dtypes: float32, else a more common one. fills: ones, zeros,
/// whole numbers. values: stated ones become 0, 1, -1, whole; all, halves, quarters, ..., one by one.
[[nodiscard]] std::span<const Reduction> reductions();

/// Whether the values of the argument have a meaning in a function of the case: an index, a variance (schema.hpp, `!`).
/// Integers of a range beside tensors of another kind also count as an index.
[[nodiscard]] bool has_meaning(const Case& c, const CaseTensor& tensor);

/// Replaces the fills of tensors with at most `most` elements by their values under `seed`, the value of --seed. False
/// when there are none.
bool state_values(Case& c, uint64_t seed, int64_t most);

// The families of edits, one file each.
[[nodiscard]] std::vector<Edit> dim_edits(const Case& c);
[[nodiscard]] std::vector<Edit> rank_edits(const Case& c);
[[nodiscard]] std::vector<Edit> fill_edits(const Case& c);
[[nodiscard]] std::vector<Edit> value_edits(const Case& c);

/// The tensor with that name; null when it was removed or is absent.
[[nodiscard]] CaseTensor* find_present(Case& c, std::string_view name);

}  // namespace diopi
