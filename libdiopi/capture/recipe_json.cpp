#include "capture/recipe_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "json/json_text.hpp"

namespace diopi {

namespace {

struct Form {
    Recipe::Kind kind;
    const char* word;
    const char* first;
    const char* second;  ///< null: the recipe has one number
};

constexpr Form kForms[] = {{Recipe::Kind::kConstant, "constant", "value", nullptr},
                           {Recipe::Kind::kNormal, "normal", "mean", "std"},
                           {Recipe::Kind::kUniform, "uniform", "low", "high"},
                           {Recipe::Kind::kIntegers, "integers", "low", "high"}};

const Form& form_of(Recipe::Kind kind) { return *std::ranges::find(kForms, kind, &Form::kind); }

bool is_whole(double x) { return std::isfinite(x) && std::trunc(x) == x; }

/// The values x of an integer dtype or bool: first <= x < second.
std::pair<double, double> range_of(Dtype dtype) {
    if (dtype == Dtype::boolean) return {0, 2};
    const int bits = static_cast<int>(size_of(dtype)) * 8;
    if (is_unsigned(dtype)) return {0, std::ldexp(1, bits)};
    return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1)};
}

bool is_discrete(Dtype dtype) { return is_integer(dtype) || dtype == Dtype::boolean; }

/// The reason why the recipe gives no values; empty if it does.
std::string why_invalid(const Recipe& recipe) {
    const double a = recipe.first, b = recipe.second;
    const auto [low, high] = range_of(recipe.dtype);
    const bool discrete = is_discrete(recipe.dtype);
    const auto beyond = [&] { return fmt::format("{} cannot hold these values", name(recipe.dtype)); };
    switch (recipe.kind) {
        case Recipe::Kind::kConstant:
            return discrete && !(is_whole(a) && a >= low && a < high) ? beyond() : "";
        case Recipe::Kind::kNormal:
            if (discrete) return fmt::format("{} holds no normal numbers; use the kind integers", name(recipe.dtype));
            return std::isfinite(a) && std::isfinite(b) && b >= 0 ? "" : "expected a finite mean and a std >= 0";
        case Recipe::Kind::kUniform:
            if (discrete) return fmt::format("{} holds no uniform numbers; use the kind integers", name(recipe.dtype));
            return std::isfinite(a) && std::isfinite(b) && a < b
                       ? ""
                       : "expected finite low < high; one value everywhere is of the kind constant";
        case Recipe::Kind::kIntegers:
            if (!is_whole(a) || !is_whole(b) || !(a < b)) return "expected whole numbers low < high";
            return discrete && (a < low || b > high) ? beyond() : "";
    }
    return "";
}

}  // namespace

Json recipe_to_json(const Recipe& recipe) {
    const Form& form = form_of(recipe.kind);
    const auto number = [&](double x) -> Json {
        // Whole numbers of up to 53 bits are printed as integers.
        const bool plain = is_discrete(recipe.dtype) && is_whole(x) && std::fabs(x) <= 0x1p53;
        return plain ? Json(static_cast<int64_t>(x)) : json_number(x);
    };
    Json json = {{"kind", form.word}, {"dtype", name(recipe.dtype)}, {form.first, number(recipe.first)}};
    if (form.second != nullptr) json[form.second] = number(recipe.second);
    return json;
}

bool read_recipe(JsonReader& reader, const JsonNode& node, Recipe& recipe) {
    std::string word;
    const JsonNode* kind = node.find("kind");
    if (kind == nullptr) return reader.wrong_kind(node, "a recipe: an object with kind, dtype and numbers");
    if (!reader.read(*kind, word)) return false;
    const auto* form =
        std::ranges::find(kForms, std::string_view(word), [](const Form& f) { return std::string_view(f.word); });
    if (form == std::end(kForms)) {
        std::vector<std::string> known;
        for (const Form& f : kForms) known.emplace_back(f.word);
        return reader.unknown(*kind, "recipe", word, known);
    }
    recipe.kind = form->kind;
    const bool is_valid = form->second == nullptr ? reader.members(node, {"kind", "dtype", form->first})
                                                  : reader.members(node, {"kind", "dtype", form->first, form->second});
    if (!is_valid || !reader.read(*node.find("dtype"), recipe.dtype) ||
        !reader.read(*node.find(form->first), recipe.first) ||
        (form->second != nullptr && !reader.read(*node.find(form->second), recipe.second))) {
        return false;
    }
    const std::string wrong = why_invalid(recipe);
    return wrong.empty() || reader.fail(node, wrong);
}

}  // namespace diopi
