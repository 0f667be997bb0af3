#include "cases/bind.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "call/arg_kind.hpp"
#include "cases/coerce.hpp"
#include "cases/recorded_call.hpp"
#include "core/suggest.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

/// Parameters of a case that are no C argument: they describe the result, or choose the function.
constexpr std::array<std::string_view, 4> kHints = {"keepdim", "dtype", "return_indices", "inplace"};

/// Whether the row lists it among the parameters that no C argument takes: sizes that only the output tensor shows, and
/// the norm to which a framework first scales the rows of an embedding with diopiEmbeddingRenorm_.
bool is_case_only(const Row& row, std::string_view param) {
    std::string_view rest = row.case_only;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(','), rest.size());
        if (rest.substr(0, end) == param) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

bool is_null(const Param& param) { return std::holds_alternative<std::monostate>(param.value); }

const Arg* arg_for(const Row& row, std::string_view word) {
    for (const Arg& arg : row.args()) {
        if (arg.answers_to(word)) return &arg;
    }
    return nullptr;
}

/// Whether the tensor is the argument, or an element of that list argument.
bool is_for(const CaseTensor& tensor, const Arg& arg) {
    return arg.answers_to(tensor.list.empty() ? tensor.name : tensor.list);
}

bool takes_tensor(const Row& row, const CaseTensor& tensor) {
    const Arg* arg = arg_of(row, tensor);
    if (arg == nullptr || arg->is_output) return false;
    if (!tensor.list.empty()) return arg->is_tensor_list();
    if (tensor.absent) return arg->optional;
    // One tensor also stands for a list of one.
    return arg->is_tensor_list() || (arg->is_tensor() && !tensor.is_list);
}

/// Whether another function of the operator takes the parameter.
bool has_partner_for(const Row& row, std::string_view param) {
    return std::ranges::any_of(rows_of(row.op), [&](const Row* other) {
        const Arg* arg = arg_for(*other, param);
        return arg != nullptr && !arg->is_output;
    });
}

/// null stands for an argument that is left out, so that the functions without it fit.
bool takes_param(const Row& row, const std::string& name, const Param& param) {
    const Arg* arg = arg_for(row, name);
    if (arg == nullptr) {
        return is_hint(name) || is_case_only(row, name) || (is_null(param) && has_partner_for(row, name));
    }
    if (is_null(param)) return arg->optional || arg->has_default;
    return arg->is_listed || (!arg->is_tensor() && !arg->is_tensor_list());
}

/// Whether only the case can give the argument: it has no default, may not be null, and the host does not compute it.
bool must_be_given(const Arg& arg) {
    return !arg.is_output && !arg.optional && !arg.has_default && arg.list.empty() && !arg.is_generator();
}

/// The name of the argument in cases.
std::string word_of(const Arg& arg) { return std::string(arg.alias.empty() ? arg.name : arg.alias); }

/// Whether every argument that has no default and may not be null gets a value from the case.
bool is_complete(const Row& row, const Case& c) {
    return std::ranges::all_of(row.args(), [&](const Arg& arg) {
        if (!must_be_given(arg)) return true;
        return std::ranges::any_of(c.tensors, [&](const CaseTensor& t) { return is_for(t, arg); }) ||
               std::ranges::any_of(c.params, [&](const auto& p) { return arg.answers_to(p.first); });
    });
}

/// A function whose mode only the case states computes the one that its overload names.
bool suits_mode(const Row& row, const Case& c) {
    const Param* mode = is_case_only(row, "mode") ? c.param("mode") : nullptr;
    const auto* text = mode == nullptr ? nullptr : std::get_if<std::string>(&mode->value);
    return text == nullptr || *text == row.overload;
}

bool fits(const Row& row, const Case& c) {
    if (!suits_mode(row, c)) return false;
    const Param* indices = c.param("return_indices");
    const bool wants_indices = indices != nullptr && indices->value == Param{true}.value;
    if ((row.overload == "indices") != wants_indices) return false;
    return std::ranges::all_of(c.tensors, [&](const CaseTensor& t) { return takes_tensor(row, t); }) &&
           std::ranges::all_of(c.params, [&](const auto& p) { return takes_param(row, p.first, p.second); }) &&
           is_complete(row, c);
}

/// The gradient of a function: the one of its overload, else the first of the operator; null where there is none.
const Row* backward_of(const Row& function, std::span<const Row* const> candidates) {
    const Row* first = nullptr;
    for (const Row* row : candidates) {
        if (row->variant != Variant::backward) continue;
        if (row->overload == function.overload) return row;
        if (first == nullptr) first = row;
    }
    return first;
}

/// Whether `saving` makes every output that `backward` reads.
bool saves_for(const Row& saving, const Row& backward) {
    return std::ranges::all_of(backward.args(), [&](const Arg& arg) {
        if (arg.kind != ArgKind::const_tensor || arg.optional || arg.name.starts_with("grad")) return true;
        if (arg.answers_to("output")) return true;
        return arg_for(saving, arg.name) != nullptr || (!arg.alias.empty() && arg_for(saving, arg.alias) != nullptr);
    });
}

/// The first word that no function of the operator has as an argument, with a suggestion; empty when there is none.
std::string unknown_word(const Case& c, std::span<const Row* const> candidates, const std::vector<std::string>& words) {
    std::vector<std::string> known;
    for (const Row* row : candidates) {
        for (const Arg& arg : row->args()) {
            if (!arg.is_output && row->variant != Variant::backward) {
                known.push_back(word_of(arg));
            }
        }
    }
    for (const std::string& word : words) {
        const auto takes = [&](const Row* row) {
            const Arg* arg = arg_for(*row, word);
            return arg != nullptr && !arg->is_output;
        };
        if (is_hint(word) || std::ranges::any_of(candidates, takes)) continue;
        return "operator " + c.op + " has no argument '" + word + "'" + did_you_mean(word, known);
    }
    return "";
}

/// The reason why no function of an operator takes the arguments of a case: an unknown name, a missing one, or their
/// combination.
std::string why_none_fits(const Case& c, std::span<const Row* const> candidates) {
    std::vector<std::string> words;
    for (const CaseTensor& tensor : c.tensors) words.push_back(tensor.list.empty() ? tensor.name : tensor.list);
    for (const auto& [name, param] : c.params) words.push_back(name);
    if (std::string unknown = unknown_word(c, candidates, words); !unknown.empty()) return unknown;
    for (const Arg& arg : candidates.front()->args()) {
        if (must_be_given(arg) &&
            std::ranges::none_of(words, [&](const std::string& word) { return arg.answers_to(word); })) {
            return "operator " + c.op + " needs the argument '" + word_of(arg) + "', which the case does not give";
        }
    }
    return "no function of operator " + c.op + " takes these arguments together";
}

const CaseTensor* tensor_for(const Case& c, const Arg& arg) {
    const auto found = std::ranges::find_if(c.tensors, [&](const CaseTensor& t) { return is_for(t, arg); });
    return found == c.tensors.end() ? nullptr : &*found;
}

/// The value of the argument: a tensor, a list of tensors, or a list made of several arguments of the case.
Value bound_tensor(const Arg& arg, const Case& c, const CaseTensors& tensors) {
    TensorList elements;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!is_for(c.tensors[i], arg)) continue;
        const TensorList& list = tensors[i].second;
        if (!arg.is_tensor_list()) return list.empty() ? Value() : Value(list.front());
        elements.insert(elements.end(), list.begin(), list.end());
        if (list.empty()) elements.emplace_back();
    }
    return elements.empty() ? Value() : Value(std::move(elements));
}

/// The tensor that the case writes as a list; null where it does not.
Result<Value> listed_tensor(const Row& row, const Arg& arg, const Case& c) {
    const auto given = std::ranges::find_if(c.params, [&](const auto& param) { return arg.answers_to(param.first); });
    if (given == c.params.end() || is_null(given->second)) return Value();
    Arg list = arg;
    list.kind = ArgKind::int_list;
    auto numbers = coerce(list, given->second);
    if (!numbers.ok()) return bad_input(std::string(row.function) + ": " + numbers.error().message);
    const IntList& values = std::get<IntList>(*numbers);
    auto made = make_tensor(cpu_device(), {{std::ssize(values)}, Dtype::int32, {}});
    if (!made.ok()) return made.error();
    std::ranges::transform(values, (*made)->data_as<int32_t>(), [](int64_t x) { return static_cast<int32_t>(x); });
    return Value(std::move(*made));
}

Result<Value> bound_param(const Row& row, const Arg& arg, const Case& c) {
    for (const auto& [name, param] : c.params) {
        if (!arg.answers_to(name)) continue;
        if (is_null(param) && arg.has_default) return default_value(arg);
        auto value = coerce(arg, param);
        if (value.ok() && arg.is_negated && name == arg.alias) value = Value(!std::get<bool>(*value));
        if (value.ok()) return value;
        return bad_input(std::string(row.function) + ": " + value.error().message);
    }
    return default_value(arg);
}

/// The forward argument or output that the backward argument `arg` stands for.
int forward_position(const Row& forward, const Arg& arg, const Case& c) {
    for (const auto& [name, output] : c.saved) {
        if (!arg.answers_to(name)) continue;
        int64_t nth = 0;
        for (size_t i = 0; i < forward.args().size(); ++i) {
            if (forward.args()[i].is_output && nth++ == output) return static_cast<int>(i);
        }
    }
    const int exact = forward.find(arg.name);
    if (exact >= 0) return exact;
    const Arg* alias = arg.alias.empty() ? nullptr : arg_for(forward, arg.alias);
    if (alias != nullptr) return forward.find(alias->name);
    return arg.answers_to("output") ? forward.find("out") : -1;
}

/// A case, like frameworks, counts the rows of a tensor from the back with a negative number; for the C function such a
/// number means none.
void count_rows_from_front(Call& call, const Case& c) {
    const auto args = call.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        if (args[i].row_of < 0) continue;
        const auto given = std::ranges::find_if(c.params, [&](const auto& p) { return args[i].answers_to(p.first); });
        const Tensor* rows = call.tensor(args[static_cast<size_t>(args[i].row_of)].name);
        if (given == c.params.end() || is_null(given->second) || rows == nullptr || rows->rank() == 0) continue;
        auto& index = std::get<int64_t>(call.args[i]);
        if (index < 0) index += rows->shape[0];
    }
}

/// The absent index tensors of a case are the dots in input[i, ..., j]: as many whole dims as the others leave. Where
/// there are as many, each is one of them: input[:, i, :, j]. For the C function a null is one whole dim, and none
/// stands behind the last index tensor.
void name_whole_dims(Call& call) {
    const bool is_indexed = call.row->rule == ShapeRule::index || call.row->rule == ShapeRule::index_put;
    auto* list = is_indexed ? std::get_if<TensorList>(&call["indices"]) : nullptr;
    const Tensor* input = is_indexed ? call.tensor("input") : nullptr;
    if (list == nullptr || input == nullptr) return;
    auto left = input->rank();
    for (const TensorPtr& index : *list) {
        const bool is_mask = index != nullptr && (index->dtype == Dtype::boolean || index->dtype == Dtype::uint8);
        left -= is_mask ? index->rank() : index != nullptr ? 1 : 0;
    }
    TensorList named;
    bool has_dots = false;
    const bool is_complete = std::ranges::count(*list, nullptr) == left;
    for (const TensorPtr& index : *list) {
        if (index != nullptr || is_complete) named.push_back(index);
        if (index == nullptr && !is_complete && !has_dots)
            named.resize(named.size() + static_cast<size_t>(std::max<int64_t>(left, 0)));
        has_dots = has_dots || index == nullptr;
    }
    while (!named.empty() && named.back() == nullptr) named.pop_back();
    *list = std::move(named);
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (call.row->args()[i].list == "indices") call.args[i] = static_cast<int64_t>(list->size());
    }
}

/// A case names the dims that are normalised by their sizes, as frameworks do, the C function by the first of them.
Status find_first_normalised(Call& call, const Case& c) {
    const Param* sizes = call.row->rule == ShapeRule::layer_norm_axis ? c.param("normalized_shape") : nullptr;
    const Tensor* input = sizes != nullptr ? call.tensor("input") : nullptr;
    const auto* list = input != nullptr ? std::get_if<std::vector<Param>>(&sizes->value) : nullptr;
    if (list == nullptr) return {};
    const int64_t axis = input->rank() - std::ssize(*list);
    for (size_t i = 0; axis >= 0 && i < list->size(); ++i) {
        const auto* size = std::get_if<int64_t>(&(*list)[i].value);
        if (size != nullptr && *size == input->shape[static_cast<size_t>(axis) + i]) continue;
        return bad_input(std::string(call.row->function) + ": input " + to_string(input->shape) +
                         " does not end in normalized_shape");
    }
    call["begin_norm_axis"] = axis;
    return {};
}

/// The numbers of a parameter that is a number or a list of them; none where it is another one.
std::vector<double> numbers_of(const Param& param) {
    std::vector<double> numbers;
    const auto add = [&](const Param& each) {
        if (const auto* real = std::get_if<double>(&each.value)) numbers.push_back(*real);
        if (const auto* whole = std::get_if<int64_t>(&each.value)) numbers.push_back(static_cast<double>(*whole));
    };
    if (const auto* list = std::get_if<std::vector<Param>>(&param.value))
        std::ranges::for_each(*list, add);
    else
        add(param);
    return numbers;
}

/// A case may name the sides of a resized image by factors of the input's, the C function takes sizes only. Source of
/// the rounding: torch.nn.functional.interpolate.
Status find_resized(Call& call, const Case& c) {
    const Param* scale = call.row->rule == ShapeRule::resize ? c.param("scale_factor") : nullptr;
    const Tensor* input = scale != nullptr && !is_null(*scale) ? call.tensor("input") : nullptr;
    if (input == nullptr || input->rank() < 3) return {};
    const std::vector<double> factors = numbers_of(*scale);
    const size_t sides = input->shape.size() - 2;
    IntList& size = std::get<IntList>(call["size"]);
    if (!size.empty() || (factors.size() != 1 && factors.size() != sides)) {
        return bad_input(std::string(call.row->function) + ": scale_factor has one number or " + std::to_string(sides) +
                         ", and stands in the place of size");
    }
    for (size_t i = 0; i < sides; ++i) {
        const double sized = static_cast<double>(input->shape[i + 2]) * factors[factors.size() == 1 ? 0 : i];
        size.push_back(sized >= 0 && sized < 0x1p62 ? static_cast<int64_t>(sized) : 0);
    }
    return {};
}

/// A case names both sides of the bins of regions in one list, or with one number.
void find_pooled_sides(Call& call, const Case& c) {
    const Param* sides = call.row->rule == ShapeRule::roi_align ? c.param("output_size") : nullptr;
    const std::vector<double> numbers = sides == nullptr ? std::vector<double>() : numbers_of(*sides);
    if (numbers.size() != 1 && numbers.size() != 2) return;
    call["pooled_height"] = static_cast<int64_t>(numbers.front());
    call["pooled_width"] = static_cast<int64_t>(numbers.back());
}

/// The shape of a forward argument as `arg` of the backward function takes it; null where that argument is absent.
Value shape_value(const Arg& arg, const Call& forward) {
    const Tensor* of = forward.tensor(arg.shape_of);
    if (of == nullptr) return {};
    return arg.kind == ArgKind::int64 ? Value(of->shape[static_cast<size_t>(arg.size_of_dim)]) : Value(of->shape);
}

/// Zeros in the shape and dtype of a host tensor; without memory if it has none.
Result<TensorPtr> zeros_like(const Tensor& tensor) {
    const TensorSpec spec{tensor.shape, tensor.dtype, {}};
    if (tensor.data() == nullptr) return without_memory(spec);
    auto made = make_tensor(cpu_device(), spec);
    if (made.ok()) std::memset((*made)->storage.memory.get(), 0, (*made)->storage.nbytes);
    return made;
}

/// The positions of the forward outputs, in the order in which a case counts them.
std::vector<size_t> output_positions(const Row& forward) {
    std::vector<size_t> positions;
    for (size_t i = 0; i < forward.args().size(); ++i) {
        if (forward.args()[i].is_output) positions.push_back(i);
    }
    return positions;
}

/// The position of the forward output whose gradient the backward argument is; -1: the argument is no gradient.
int output_of_gradient(const Row& forward, const Arg& arg) {
    if (arg.is_output || !arg.is_tensor()) return -1;
    const std::vector<size_t> outputs = output_positions(forward);
    if (arg.answers_to("grad_output")) return outputs.empty() ? -1 : static_cast<int>(outputs.front());
    if (!arg.optional || !arg.name.starts_with("grad_")) return -1;
    const int named = forward.find(arg.name.substr(5));
    return named >= 0 && forward.args()[static_cast<size_t>(named)].is_output ? named : -1;
}

/// "grad_input" for the gradient of `input`, whatever the C function calls it; empty for an output that is no gradient.
std::string_view gradient_word(const Arg& arg) {
    if (!arg.is_output) return {};
    return arg.alias.starts_with("grad_") ? arg.alias : arg.name.starts_with("grad_") ? arg.name : std::string_view();
}

}  // namespace

bool is_hint(std::string_view param) { return std::ranges::find(kHints, param) != kHints.end(); }

bool names_dims(std::string_view op, std::string_view param) {
    return std::ranges::any_of(rows_of(op), [&](const Row* row) {
        const Arg* arg = arg_for(*row, param);
        return arg != nullptr && arg->names_dims;
    });
}

const Arg* arg_of(const Row& row, const CaseTensor& tensor) {
    return arg_for(row, tensor.list.empty() ? tensor.name : tensor.list);
}

Result<CaseRows> rows_for(const Case& c) {
    if (c.recorded != nullptr) return CaseRows{.forward = c.recorded->call.row};
    const auto candidates = rows_of(c.op);
    if (candidates.empty()) return not_implemented("the standard has no operator '" + c.op + "'");
    CaseRows rows;
    for (const Row* row : candidates) {
        if (!fits(*row, c)) continue;
        if (row->variant == Variant::forward && rows.forward == nullptr) rows.forward = row;
        if (row->variant == Variant::inplace && rows.inplace == nullptr) rows.inplace = row;
    }
    if (rows.forward == nullptr && rows.inplace == nullptr) {
        const auto is_described = [](const Row* row) { return row->rule != ShapeRule::unknown; };
        // The rows of an operator may not know the words of its cases before its shapes are described.
        if (std::ranges::none_of(candidates, is_described)) return undescribed(*candidates.front());
        return bad_input(why_none_fits(c, candidates));
    }
    rows.backward = backward_of(rows.forward != nullptr ? *rows.forward : *rows.inplace, candidates);
    if (rows.backward != nullptr) {
        rows.saving = rows.forward;
        for (const Row* row : candidates) {
            if (rows.saving != nullptr && saves_for(*rows.saving, *rows.backward)) break;
            if (row->variant == Variant::forward) rows.saving = row;
        }
    }
    return rows;
}

Result<std::vector<OutputSpec>> outputs_of(Call& call, const Case& c) {
    if (c.recorded != nullptr) return c.recorded->outputs;
    return infer(call, hints_of(c));
}

Result<Call> bind_call(const Row& row, const Case& c, const CaseTensors& tensors) {
    if (c.recorded != nullptr) return c.recorded->call;
    Call call(row);
    const auto args = row.args();
    for (size_t i = 0; i < args.size(); ++i) {
        const Arg& arg = args[i];
        if (arg.is_output) continue;
        if (arg.is_tensor() || arg.is_tensor_list()) {
            call.args[i] = bound_tensor(arg, c, tensors);
            if (!arg.is_listed || !std::holds_alternative<std::monostate>(call.args[i])) continue;
            auto listed = listed_tensor(row, arg, c);
            if (!listed.ok()) return listed.error();
            call.args[i] = std::move(*listed);
        } else if (!arg.list.empty()) {
            const auto* list = std::get_if<TensorList>(&call[arg.list]);
            call.args[i] = static_cast<int64_t>(list == nullptr ? 0 : list->size());
        } else if (!arg.is_generator()) {
            auto value = bound_param(row, arg, c);
            if (!value.ok()) return value.error();
            call.args[i] = std::move(*value);
        }
    }
    count_rows_from_front(call, c);
    name_whole_dims(call);
    find_pooled_sides(call, c);
    for (const auto find : {find_first_normalised, find_resized}) {
        if (Status s = find(call, c); !s.ok()) return s.error();
    }
    return call;
}

ResultHints hints_of(const Case& c) {
    ResultHints hints;
    const auto truth = [](const Param* p) {
        const bool* flag = p == nullptr ? nullptr : std::get_if<bool>(&p->value);
        return flag != nullptr && *flag;
    };
    hints.keepdim = truth(c.param("keepdim"));
    hints.four_bytes = c.four_bytes;
    hints.whole_channels = c.op == "dropout2d";
    if (const Param* shared = c.param("shared_dims"); shared != nullptr) {
        if (const auto* bits = std::get_if<int64_t>(&shared->value)) hints.shared_dims = *bits;
    }
    hints.no_inverse = c.param("return_inverse") != nullptr && !truth(c.param("return_inverse"));
    if (const Param* dtype = c.param("dtype"); dtype != nullptr) {
        if (const auto* text = std::get_if<std::string>(&dtype->value)) hints.dtype = parse_dtype(*text);
    }
    if (const Param* size = c.param("size"); size != nullptr) {
        if (const auto* list = std::get_if<std::vector<Param>>(&size->value)) {
            hints.size.emplace();
            for (const Param& item : *list) {
                if (const auto* number = std::get_if<int64_t>(&item.value)) hints.size->push_back(*number);
            }
        }
    }
    return hints;
}

Result<std::vector<IncomingGradient>> incoming_gradients(const Row& backward, const Row& forward, const Case& c) {
    const std::vector<size_t> outputs = output_positions(forward);
    const auto is_named = [&](size_t output) {
        return c.grad_outputs.empty() || std::ranges::any_of(c.grad_outputs, [&](int64_t nth) {
                   return nth < static_cast<int64_t>(outputs.size()) && outputs[static_cast<size_t>(nth)] == output;
               });
    };
    std::vector<IncomingGradient> gradients;
    for (size_t i = 0; i < backward.args().size(); ++i) {
        const int output = output_of_gradient(forward, backward.args()[i]);
        if (output >= 0) gradients.push_back({i, static_cast<size_t>(output), is_named(static_cast<size_t>(output))});
    }
    for (const int64_t nth : c.grad_outputs) {
        if (nth >= static_cast<int64_t>(outputs.size())) {
            return bad_input("grad_outputs: " + std::string(forward.function) + " has " +
                             std::to_string(outputs.size()) + " outputs, counted from 0; there is no output " +
                             std::to_string(nth));
        }
        const size_t output = outputs[static_cast<size_t>(nth)];
        if (std::ranges::find(gradients, output, &IncomingGradient::output) != gradients.end()) continue;
        return bad_input("grad_outputs: " + std::string(backward.function) + " takes no gradient of output " +
                         std::to_string(nth) + ", '" + std::string(forward.args()[output].name) + "'; leave it out");
    }
    return gradients;
}

Result<Call> bind_backward(const Row& row, const Case& c, const Call& forward,
                           const std::vector<ArgTensor>& gradients) {
    Call call(row);
    const auto args = row.args();
    for (size_t i = 0; i < args.size(); ++i) {
        const Arg& arg = args[i];
        if (arg.is_output || arg.is_opaque || arg.is_generator()) continue;
        if (output_of_gradient(*forward.row, arg) >= 0) {
            const auto given = std::ranges::find(gradients, i, &ArgTensor::arg);
            call.args[i] = given == gradients.end() ? TensorPtr() : given->tensor;
            continue;
        }
        if (!arg.shape_of.empty()) {
            call.args[i] = shape_value(arg, forward);
            continue;
        }
        if (!arg.zeros_of.empty()) {
            auto zeros = zeros_like(*forward.tensor(arg.zeros_of));
            if (!zeros.ok()) return zeros.error();
            call.args[i] = *zeros;
            continue;
        }
        const int from = forward_position(*forward.row, arg, c);
        if (from >= 0) {
            call.args[i] = forward.args[static_cast<size_t>(from)];
            const auto* tensor = std::get_if<TensorPtr>(&call.args[i]);
            const bool unused = tensor != nullptr && *tensor != nullptr && arg.optional && (*tensor)->numel() == 0 &&
                                forward.row->args()[static_cast<size_t>(from)].is_output;
            if (unused) call.args[i] = {};
            continue;
        }
        auto value = bound_param(row, arg, c);
        if (!value.ok()) return value.error();
        call.args[i] = std::move(*value);
    }
    return call;
}

std::vector<OutputSpec> wanted_gradients(const Call& backward, const Case& c, const Call& forward) {
    std::vector<OutputSpec> specs;
    const auto args = backward.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        const std::string_view gradient = gradient_word(args[i]);
        if (gradient.empty()) continue;
        const int of = forward.row->find(gradient.substr(5));
        if (of < 0) continue;
        const Arg& source = forward.row->args()[static_cast<size_t>(of)];
        const Tensor* tensor = forward.tensor(source.name);
        const CaseTensor* described = tensor_for(c, source);
        if (tensor == nullptr || described == nullptr) continue;
        if (described->requires_grad || !args[i].optional) specs.push_back({i, {tensor->shape, tensor->dtype, {}}});
    }
    return specs;
}

TensorPtr without_memory(const TensorSpec& spec) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = spec.shape;
    tensor->strides = contiguous_strides(spec.shape);
    tensor->dtype = spec.dtype;
    return tensor;
}

CaseTensors shape_tensors(const Case& c) {
    CaseTensors out;
    for (const CaseTensor& tensor : c.tensors) {
        TensorList list;
        for (const TensorSpec& spec : tensor.specs) list.push_back(without_memory(spec));
        if (tensor.absent) list.clear();
        out.emplace_back(tensor.name, std::move(list));
    }
    return out;
}

}  // namespace diopi
