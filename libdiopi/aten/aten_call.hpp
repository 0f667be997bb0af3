/// Calls of ATen that do the work of a function of the standard: the rows of aten/all.inc, read backwards.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schema/schema.hpp"

namespace diopi {

/// A parameter of the C function that becomes an argument of ATen.
struct AtenArgument {
    enum class Form : uint8_t {
        kPlain,
        kRounding,  ///< a rounding mode, which ATen has as a text
        kGenerator,
        kFolded  ///< a tensor whose dims from `dim` on are one, behind a dim of size 1
    };
    std::string_view name;  ///< ATen's
    int parameter = -1;     ///< position in the row
    Form form = Form::kPlain;
    int64_t dim = 0;
};

/// A value in the text of the table: None, True, 2, 0.5, [], 'add'.
struct AtenConstant {
    std::string_view name;  ///< ATen's argument; empty where `parameter` counts
    int parameter = -1;
    std::string_view value;
};

/// The number of dims that an argument of ATen has.
struct AtenRank {
    std::string_view name;
    int64_t rank = 0;
};

/// An argument of ATen that comes from the shape of a parameter.
struct AtenShape {
    enum class Form : uint8_t {
        kFrom,     ///< the sizes from `dim` on
        kOne,      ///< the size of `dim`
        kProduct,  ///< the product of the sizes from `dim` on
        kZeros     ///< zeros with its shape and dtype
    };
    std::string_view name;
    int parameter = -1;
    Form form = Form::kFrom;
    int64_t dim = 0;  ///< a negative one counts from the back
};

/// A parameter that receives the gradient of an argument of ATen.
struct AtenGradient {
    std::string_view name;
    int parameter = -1;
};

/// One way to do a function's work: any of the overloads with these arguments.
struct AtenCall {
    std::vector<std::string_view> overloads;
    std::vector<AtenArgument> arguments;
    std::vector<AtenConstant> given;     ///< arguments of ATen that no parameter gives
    std::vector<AtenShape> shapes;       ///< the same, as shapes of parameters
    std::vector<AtenConstant> required;  ///< values that parameters must have for this way
    std::vector<AtenRank> ranks;         ///< arguments that must have so many dims for this way
    std::vector<int> results;            ///< the parameter of each result, -1: it is not wanted
    /// Not empty: the function does not make this call, but differentiates it.
    std::vector<AtenGradient> gradients;
    std::vector<int> incoming;   ///< then the parameter that has the gradient of each result, -1: none
    std::vector<AtenCall> more;  ///< calls after this one
};

/// All ways, in the order of the table; empty where no row can be read backwards.
[[nodiscard]] std::vector<AtenCall> aten_calls_of(const Row& row);

/// The reason why ATen has no call for the function; empty where the table has none.
[[nodiscard]] std::string_view no_aten_call(const Row& row);

/// Parts of a list between commas that stand in no bracket and in no text, without spaces around them.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

}  // namespace diopi
