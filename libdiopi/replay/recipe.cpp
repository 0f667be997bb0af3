#include "replay/recipe.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cases/fill_target.hpp"
#include "core/normal.hpp"
#include "file/checksum.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

/// Whole numbers low <= x < high from the generator's words.
void fill_integers(const FillTarget& target, uint64_t key, int64_t low, uint64_t count) {
    uint32_t words[kTile];
    fill_tiles<int64_t>(target, Parts::kReal, [&](int64_t first, std::span<int64_t> out) {
        word_block(key, kValueStream, first, std::span(words, out.size()));
        for (size_t i = 0; i < out.size(); ++i) out[i] = low + static_cast<int64_t>((words[i] * count) >> 32);
    });
}

template <class Numbers>
void fill_scaled(const FillTarget& target, double offset, double factor, Numbers numbers) {
    fill_tiles<double>(target, Parts::kReal, [&](int64_t first, std::span<double> out) {
        numbers(first, out);
        for (double& x : out) x = offset + factor * x;
    });
}

Error no_range(const Recipe& recipe, const char* what) {
    return bad_input(fmt::format("no {} is in [{}, {}) of {}", what, recipe.first, recipe.second, name(recipe.dtype)));
}

Status fill(const Recipe& recipe, const FillTarget& target, uint64_t key) {
    switch (recipe.kind) {
        case Recipe::Kind::kConstant:
            fill_tiles<double>(target, Parts::kReal,
                               [&](int64_t, std::span<double> out) { std::ranges::fill(out, recipe.first); });
            return {};
        case Recipe::Kind::kNormal:
            fill_scaled(target, recipe.first, recipe.second,
                        [&](int64_t first, std::span<double> out) { normal_block(key, kValueStream, first, out); });
            return {};
        case Recipe::Kind::kUniform:
            if (!(recipe.first < recipe.second)) return no_range(recipe, "number");
            fill_scaled(target, recipe.first, recipe.second - recipe.first,
                        [&](int64_t first, std::span<double> out) { uniform_block(key, kValueStream, first, out); });
            return {};
        case Recipe::Kind::kIntegers: {
            const double low = std::ceil(recipe.first), count = std::ceil(recipe.second) - low;
            const bool held = low >= -kIntegerLimit && recipe.second <= kIntegerLimit && count <= 0x1p32;
            if (!(count >= 1) || !held) return no_range(recipe, "whole number, or too many,");
            fill_integers(target, key, static_cast<int64_t>(low), static_cast<uint64_t>(count));
            return {};
        }
    }
    return {};
}

}  // namespace

uint64_t recipe_key(std::string_view capture, std::string_view id, uint64_t seed) {
    Checksum checksum;
    checksum.update(capture.data(), capture.size());
    checksum.update("/", 1);
    checksum.update(id.data(), id.size());
    checksum.update(&seed, sizeof seed);
    return checksum.value();
}

Result<TensorPtr> draw_recipe(const Recipe& recipe, const Shape& shape, uint64_t key) {
    const TensorSpec spec{shape, recipe.dtype};
    auto tensor = make_tensor(cpu_device(), spec);
    if (!tensor.ok() || (*tensor)->numel() == 0) return tensor;

    const FillTarget target{spec, component_of(recipe.dtype), (*tensor)->numel(),
                            static_cast<std::byte*>((*tensor)->data())};
    if (Status s = fill(recipe, target, key); !s.ok()) return s.error();
    return tensor;
}

}  // namespace diopi
