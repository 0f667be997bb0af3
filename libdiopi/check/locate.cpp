#include "check/locate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace diopi {

namespace {

/// A pattern must be less likely than this among positions drawn at random.
constexpr double kChance = 0.02;
constexpr int64_t kSmallestTile = 4;
constexpr int64_t kLargestTile = 128;
/// Cells of a picture.
constexpr int64_t kMostRows = 16, kMostColumns = 64;

/// The mismatches projected on one dimension.
struct Axis {
    std::string label;  ///< "row"
    int64_t size = 0;
    int64_t used = 0;  ///< positions that hold a mismatch
    int64_t first = 0, last = 0;
    int64_t step = 0;  ///< greatest common divisor of the distances
};

std::string label_of(size_t dim, size_t rank) {
    if (rank <= 1) return "element";
    if (dim + 1 == rank) return "column";
    if (dim + 2 == rank) return "row";
    return dim == 0 ? "batch" : "dim " + std::to_string(dim) + " position";
}

std::string ordinal(int64_t n) {
    const bool teen = n % 100 >= 11 && n % 100 <= 13;
    const char* suffix = teen ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
    return std::to_string(n) + suffix;
}

/// Whether `count` random positions would all fall into a share of the tensor by chance.
bool likely_by_chance(double share, int64_t count) { return std::pow(share, static_cast<double>(count)) > kChance; }

Axis summarise(std::string label, const std::vector<bool>& used) {
    Axis axis{std::move(label), static_cast<int64_t>(used.size()), 0, -1, 0, 0};
    for (int64_t i = 0; i < axis.size; ++i) {
        if (!used[static_cast<size_t>(i)]) continue;
        if (axis.first < 0) axis.first = i;
        axis.last = i;
        axis.step = std::gcd(axis.step, i - axis.first);
        ++axis.used;
    }
    return axis;
}

std::vector<Axis> project(ShapeView shape, std::span<const int64_t> mismatches) {
    std::vector<Axis> axes;
    int64_t inner = numel(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
        inner /= shape[d];
        std::vector<bool> used(static_cast<size_t>(shape[d]));
        int64_t unused = shape[d];
        for (const int64_t flat : mismatches) {
            const auto position = static_cast<size_t>(flat / inner % shape[d]);
            if (used[position]) continue;
            used[position] = true;
            if (--unused == 0) break;
        }
        axes.push_back(summarise(label_of(d, shape.size()), used));
    }
    return axes;
}

/// The tensor as one long row.
Axis flatten(int64_t size, std::span<const int64_t> mismatches) {
    Axis axis{"element", size, static_cast<int64_t>(mismatches.size()), mismatches.front(), mismatches.back(), 0};
    for (const int64_t flat : mismatches) {
        axis.step = std::gcd(axis.step, flat - axis.first);
        if (axis.step == 1) break;
    }
    return axis;
}

std::string single_slices(const std::vector<Axis>& axes, int64_t count) {
    std::string text;
    for (const Axis& axis : axes) {
        const double share = 1.0 / static_cast<double>(axis.size);
        if (axis.size == 1 || axis.used != 1 || likely_by_chance(share, count - 1)) continue;
        if (!text.empty()) text += ", ";
        const bool is_last = axis.first == axis.size - 1 && axis.size > 2;
        text += is_last ? "last " + axis.label : axis.label + " " + std::to_string(axis.first);
    }
    return text;
}

std::string tile_tail(const Axis& axis, int64_t count) {
    const int64_t tail = axis.size - axis.first;
    if (axis.first == 0 || axis.used * 2 < tail) return "";
    if (likely_by_chance(static_cast<double>(tail) / static_cast<double>(axis.size), count)) return "";
    for (int64_t tile = kSmallestTile; tile <= kLargestTile; tile *= 2) {
        if (axis.first % tile != 0 || tail >= tile) continue;
        return "tail of the last tile of " + std::to_string(tile) + " " + axis.label + "s (from " +
               std::to_string(axis.first) + ")";
    }
    return "";
}

std::string every_nth(const Axis& axis, int64_t count) {
    if (axis.step < 2 || axis.used < 3) return "";
    const int64_t places = (axis.size - 1 - axis.first % axis.step) / axis.step + 1;
    if (axis.used * 2 < places) return "";
    if (likely_by_chance(1.0 / static_cast<double>(axis.step), count - 1)) return "";
    return "every " + ordinal(axis.step) + " " + axis.label + ", from " + std::to_string(axis.first);
}

std::string one_run(const Axis& flat) {
    if (flat.last - flat.first + 1 != flat.used) return "";
    if (flat.first == 0) return "first " + std::to_string(flat.used) + " elements";
    if (flat.last == flat.size - 1) return "last " + std::to_string(flat.used) + " elements";
    return "elements " + std::to_string(flat.first) + " to " + std::to_string(flat.last) + " in row-major order";
}

std::string few_slices(const std::vector<Axis>& axes, int64_t count) {
    const Axis* best = nullptr;
    for (const Axis& axis : axes) {
        if (axis.size < 4 || axis.used * 4 > axis.size) continue;
        const double share = static_cast<double>(axis.used) / static_cast<double>(axis.size);
        if (likely_by_chance(share, count - axis.used)) continue;
        if (best == nullptr || axis.used * best->size < best->used * axis.size) best = &axis;
    }
    if (best == nullptr) return "";
    return "in " + std::to_string(best->used) + " of " + std::to_string(best->size) + " " + best->label + "s";
}

std::string one_element(int64_t flat, int64_t size) {
    if (flat == size - 1) return size == 1 ? "the only element" : "last element";
    return flat == 0 ? "first element" : "one element";
}

/// One dim of a picture.
struct Cells {
    int64_t size = 0;  ///< elements
    int64_t each = 1;  ///< elements of a cell; the last cell may have fewer

    Cells(int64_t elements, int64_t most) : size(elements), each((elements + most - 1) / most) {}
    [[nodiscard]] int64_t count() const { return (size + each - 1) / each; }
    [[nodiscard]] int64_t elements_of(int64_t cell) const { return std::min(each, size - cell * each); }
};

char cell_text(int64_t wrong, int64_t all) {
    if (wrong == 0) return '.';
    return wrong == all ? '#' : static_cast<char>('0' + 10 * wrong / all);
}

}  // namespace

std::vector<std::string> picture_of(ShapeView shape, std::span<const int64_t> mismatches) {
    if (mismatches.empty()) return {};
    const int64_t length = shape.empty() ? 1 : shape.back();
    const Cells rows(numel(shape) / length, kMostRows), columns(length, kMostColumns);
    std::vector<int64_t> wrong(static_cast<size_t>(rows.count() * columns.count()));
    int64_t begin = 0, first_cell = 0;  // of the row; the mismatches are in order
    for (const int64_t flat : mismatches) {
        if (flat >= begin + length) {
            begin = flat - flat % length;
            first_cell = begin / length / rows.each * columns.count();
        }
        ++wrong[static_cast<size_t>(first_cell + (flat - begin) / columns.each)];
    }
    std::vector<std::string> picture(static_cast<size_t>(rows.count()));
    for (size_t cell = 0; cell < wrong.size(); ++cell) {
        const auto row = static_cast<int64_t>(cell) / columns.count(),
                   column = static_cast<int64_t>(cell) % columns.count();
        const int64_t all = rows.elements_of(row) * columns.elements_of(column);
        picture[static_cast<size_t>(row)] += cell_text(wrong[cell], all);
    }
    return picture;
}

std::string locate(ShapeView shape, std::span<const int64_t> mismatches) {
    if (mismatches.empty()) return "";
    const int64_t size = numel(shape);
    const auto count = static_cast<int64_t>(mismatches.size());
    if (count == 1) return one_element(mismatches.front(), size);
    if (count == size) return "whole tensor";

    std::vector<Axis> axes = project(shape, mismatches);
    if (std::string text = single_slices(axes, count); !text.empty()) return text;
    const Axis flat = flatten(size, mismatches);
    const std::vector<Axis> columns_first(axes.rbegin(), axes.rend());
    for (const Axis& axis : columns_first) {
        if (std::string text = tile_tail(axis, count); !text.empty()) return text;
    }
    if (std::string text = tile_tail(flat, count); !text.empty()) return text;
    for (const Axis& axis : columns_first) {
        if (std::string text = every_nth(axis, count); !text.empty()) return text;
    }
    if (std::string text = every_nth(flat, count); !text.empty()) return text;
    if (std::string text = one_run(flat); !text.empty()) return text;
    if (std::string text = few_slices(axes, count); !text.empty()) return text;
    return count * 10 >= size * 9 ? "nearly everywhere" : "scattered";
}

}  // namespace diopi
