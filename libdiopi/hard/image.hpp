/// The images of hard cases.
#pragma once

#include <algorithm>

#include "hard/draft.hpp"

namespace diopi {

/// Images whose width, channels or height have the boundary's size.
struct Image {
    int64_t samples = 2, channels = 6, depth = 5, height = 9, width = 11;
    bool is_single = false;

    explicit Image(const Draft& draft) {
        const size_t form = draft.level(Factor::kForm);
        if (form == 0 || form == 4) width = std::max<int64_t>(draft.size(2'000), 1);
        if (form == 1 || form == 5) channels = std::max<int64_t>(draft.size(257), 1);
        if (form == 2) height = std::max<int64_t>(draft.size(2'000), 1);
        if (form == 3) height = width = std::max<int64_t>(draft.size(65), 1);
        if (form == 6) samples = draft.size(129);
        is_single = form == 7;
    }
    /// A single image has no dim for the samples.
    [[nodiscard]] Shape shape(size_t sides = 2) const {
        Shape shape = is_single ? Shape{} : Shape{samples};
        shape.push_back(channels);
        if (sides > 2) shape.push_back(depth);
        if (sides > 1) shape.push_back(height);
        shape.push_back(width);
        return shape;
    }
};

}  // namespace diopi
