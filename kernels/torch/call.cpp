#include <ATen/Context.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "kernels/torch/argument.hpp"
#include "kernels/torch/device.hpp"
#include "kernels/torch/plan.hpp"
#include "kernels/torch/tensors.hpp"
#include "runtime/context.hpp"

namespace diopi::torch_impl {

namespace {

using Kind = Plan::Source::Kind;
using c10::IValue;
using c10::TypeKind;

/// The type without its Optional.
c10::TypePtr plain_type(const c10::Argument& argument) {
    c10::TypePtr type = argument.real_type();
    if (type->kind() == TypeKind::OptionalType) type = type->expectRef<c10::OptionalType>().getElementType();
    return type;
}

at::Scalar scalar_of(const diopiScalar_t& scalar) {
    switch (scalar.stype) {
        case diopi_dtype_float16:
        case diopi_dtype_bfloat16:
        case diopi_dtype_float32:
        case diopi_dtype_float64:
        case diopi_dtype_tfloat32:
            return scalar.fval;
        case diopi_dtype_bool:
            return scalar.ival != 0;
        default:
            return scalar.ival;
    }
}

/// One call: its arguments as PyTorch's values, and its results.
class Calling {
 public:
    Calling(const Row& row, diopiContextHandle_t ctx, const Argument* arguments)
        : row_(row), ctx_(ctx), arguments_(arguments) {}

    [[nodiscard]] bool suits(const Plan& plan) const {
        if (!std::ranges::all_of(plan.required, [&](const auto& each) { return is_met(each); })) return false;
        return std::ranges::all_of(plan.ranks, [&](const auto& each) { return rank_of(each.first) == each.second; });
    }

    void run(const Plan& plan) {
        const bool is_recorded = !plan.gradients.empty();
        const c10::InferenceMode mode(!is_recorded);
        const c10::FunctionSchema& schema = plan.op.schema();
        torch::jit::Stack stack;
        stack.reserve(plan.sources.size());
        for (size_t i = 0; i < plan.sources.size(); ++i) {
            stack.push_back(value_of(plan, plan.sources[i], schema.arguments()[i]));
        }
        if (is_recorded) return differentiate(plan, stack);
        if (plan.seed >= 0) seed_default(plan.seed);
        // PyTorch drops the arguments before it puts references to those that it wrote in their place.
        const torch::jit::Stack kept = plan.writes_results ? stack : torch::jit::Stack();
        plan.op.callBoxed(stack);
        if (generator_ != nullptr) advance();
        if (!plan.writes_results) store(plan, stack);
        for (const Plan& more : plan.more) run(more);
    }

 private:
    [[nodiscard]] const Argument& at(int parameter) const { return arguments_[parameter]; }
    [[nodiscard]] const Arg& arg(int parameter) const { return row_.args()[static_cast<size_t>(parameter)]; }
    [[nodiscard]] diopiConstTensorHandle_t handle(int parameter) const {
        return parameter < 0 ? nullptr : static_cast<diopiConstTensorHandle_t>(at(parameter).pointer);
    }

    /// An absent text is an empty one.
    [[nodiscard]] std::string_view text(int parameter) const {
        const auto* words = static_cast<const char*>(at(parameter).pointer);
        return words == nullptr ? std::string_view() : words;
    }

    [[nodiscard]] bool is_met(const Plan::Condition& condition) const {
        const Argument& argument = at(condition.parameter);
        const ArgKind kind = arg(condition.parameter).kind;
        if (kind == ArgKind::text) return text(condition.parameter) == condition.text;
        if (argument.is_absent || condition.text == "None") return argument.is_absent && condition.text == "None";
        switch (kind) {
            case ArgKind::boolean:
                return (argument.integer != 0) == (condition.text == "True");
            case ArgKind::int_list:
            case ArgKind::int_list_ptr:
                return condition.text == "[]" && argument.size.len == 0;
            case ArgKind::scalar:
                return scalar_of(*static_cast<const diopiScalar_t*>(argument.pointer)).toDouble() == condition.number;
            case ArgKind::float32:
            case ArgKind::float64:
                return argument.real == condition.number;
            case ArgKind::int64:
            case ArgKind::int32:
            case ArgKind::reduction:
            case ArgKind::round_mode:
            case ArgKind::memory_format:
                return static_cast<double>(argument.integer) == condition.number;
            default:
                return false;
        }
    }

    /// Makes the call with its steps recorded, and stores the gradients that are wanted.
    void differentiate(const Plan& plan, torch::jit::Stack& stack) const {
        std::vector<at::Tensor> inputs, outputs, incoming;
        std::vector<int> wanted;
        for (const Plan::Gradient& gradient : plan.gradients) {
            if (handle(gradient.parameter) == nullptr) continue;
            wanted.push_back(gradient.parameter);
            inputs.push_back(stack[gradient.argument].toTensor().requires_grad_());
        }
        if (wanted.empty()) return;
        plan.op.callBoxed(stack);
        for (size_t i = 0; i < plan.incoming.size(); ++i) {
            if (handle(plan.incoming[i]) == nullptr || !stack[i].toTensor().requires_grad()) continue;
            outputs.push_back(stack[i].toTensor());
            incoming.push_back(borrow(handle(plan.incoming[i])));
        }
        const auto gradients = torch::autograd::grad(outputs, inputs, incoming, c10::nullopt, false, true);
        for (size_t i = 0; i < wanted.size(); ++i) {
            if (gradients[i].defined()) {
                store_one(wanted[i], gradients[i]);
            } else {
                borrow(handle(wanted[i])).zero_();
            }
        }
    }

    IValue value_of(const Plan& plan, const Plan::Source& source, const c10::Argument& argument) {
        switch (source.kind) {
            case Kind::kParameter:
                return parameter(source, argument);
            case Kind::kValue:
                return source.value;
            case Kind::kResult: {
                const at::Tensor result = borrow(handle(source.parameter));
                if (result.defined()) return result;
                return at::empty({0}, borrow(handle(plan.first_result())).options());
            }
            case Kind::kKeepdim:
                return rank_of(plan.first_result()) == rank_of(plan.first_input);
            case Kind::kResultDtype:
                return static_cast<int64_t>(borrow(handle(plan.first_result())).scalar_type());
            case Kind::kShape:
                return shape(source, argument);
            case Kind::kWanted: {
                c10::List<bool> wanted;
                // ATen may have more results than the standard asks for.
                for (size_t i = 0; i < plan.op.schema().returns().size(); ++i) {
                    wanted.push_back(i < plan.results.size() && handle(plan.results[i]) != nullptr);
                }
                return wanted;
            }
        }
        return {};
    }

    IValue shape(const Plan::Source& source, const c10::Argument& wanted) const {
        const at::Tensor tensor = borrow(handle(source.parameter));
        if (!tensor.defined()) return {};
        if (source.shape == AtenShape::Form::kZeros) return listed(at::zeros_like(tensor), wanted);
        const std::vector<int64_t> sizes = tensor.sizes().vec();
        const int64_t dim = std::max<int64_t>(source.dim + (source.dim < 0 ? std::ssize(sizes) : 0), 0);
        const at::IntArrayRef rest = at::IntArrayRef(sizes).slice(static_cast<size_t>(dim));
        switch (source.shape) {
            case AtenShape::Form::kOne:
                return rest.front();
            case AtenShape::Form::kProduct:
                return c10::multiply_integers(rest);
            default:
                return c10::List<int64_t>(rest);
        }
    }

    int64_t rank_of(int parameter) const {
        diopiSize_t shape{};
        return diopiGetTensorShape(handle(parameter), &shape) == diopiSuccess ? shape.len : 0;
    }

    IValue parameter(const Plan::Source& source, const c10::Argument& wanted) {
        const Argument& argument = at(source.parameter);
        const c10::TypePtr type = plain_type(wanted);
        if (source.form == AtenArgument::Form::kGenerator) return generator(source.parameter);
        if (source.form == AtenArgument::Form::kRounding) {
            if (argument.integer == RoundModeNone) return {};
            return std::string(argument.integer == RoundModeTrunc ? "trunc" : "floor");
        }
        const ArgKind kind = arg(source.parameter).kind;
        if (argument.is_absent) return absent(wanted);
        switch (kind) {
            case ArgKind::tensor:
            case ArgKind::const_tensor:
                return listed(viewed(source), wanted);
            case ArgKind::tensors:
            case ArgKind::const_tensors:
                return tensors(source.parameter, type);
            case ArgKind::scalar:
                return number(scalar_of(*static_cast<const diopiScalar_t*>(argument.pointer)), type);
            case ArgKind::int_list:
            case ArgKind::int_list_ptr:
                return integers(argument.size, type);
            case ArgKind::float32:
            case ArgKind::float64:
                return number(argument.real, type);
            case ArgKind::boolean:
                return number(argument.integer != 0, type);
            case ArgKind::text:
                return std::string(text(source.parameter));
            case ArgKind::int64_ptr:
                return number(*static_cast<const int64_t*>(argument.pointer), type);
            case ArgKind::float64_ptr:
                return number(*static_cast<const double*>(argument.pointer), type);
            case ArgKind::boolean_ptr:
                return number(*static_cast<const bool*>(argument.pointer), type);
            default:
                return number(argument.integer, type);
        }
    }

    at::Tensor viewed(const Plan::Source& source) const {
        const at::Tensor tensor = borrow(handle(source.parameter));
        if (source.form != AtenArgument::Form::kFolded || tensor.dim() <= source.dim) return tensor;
        std::vector<int64_t> sizes = tensor.sizes().slice(0, static_cast<size_t>(source.dim)).vec();
        sizes.push_back(1);
        sizes.push_back(c10::multiply_integers(tensor.sizes().slice(static_cast<size_t>(source.dim))));
        return tensor.reshape(sizes);
    }

    /// The tensor, or a list of it where ATen wants one.
    static IValue listed(const at::Tensor& tensor, const c10::Argument& wanted) {
        if (plain_type(wanted)->kind() != TypeKind::ListType) return tensor;
        return c10::List<at::Tensor>({tensor});
    }

    /// An absent list is an empty one where ATen insists on a list; other arguments get their default.
    static IValue absent(const c10::Argument& wanted) {
        if (wanted.type()->kind() == TypeKind::OptionalType) return {};
        if (wanted.default_value()) return *wanted.default_value();
        TORCH_CHECK(wanted.type()->kind() == TypeKind::ListType, "the argument ", wanted.name(), " is missing");
        return is_list_of_tensors(wanted) ? IValue(c10::List<at::Tensor>()) : IValue(c10::List<int64_t>());
    }

    static IValue number(const at::Scalar& scalar, const c10::TypePtr& type) {
        switch (type->kind()) {
            case TypeKind::TensorType: {
                at::Tensor tensor = c10::scalar_to_tensor(scalar);
                tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
                return tensor;
            }
            case TypeKind::FloatType:
                return scalar.toDouble();
            case TypeKind::IntType:
            case TypeKind::SymIntType:
                return scalar.toLong();
            case TypeKind::BoolType:
                return scalar.toBool();
            case TypeKind::ListType: {
                const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
                if (element->kind() == TypeKind::FloatType) return c10::List<double>({scalar.toDouble()});
                if (element->kind() == TypeKind::TensorType) {
                    return c10::List<at::Tensor>({at::scalar_tensor(scalar, at::kFloat)});
                }
                return c10::List<int64_t>({scalar.toLong()});
            }
            default:
                return scalar;
        }
    }

    static IValue integers(diopiSize_t size, const c10::TypePtr& type) {
        if (type->kind() != TypeKind::ListType) {
            TORCH_CHECK(size.len == 1, "expected one integer, got ", size.len);
            return size.data[0];
        }
        c10::List<int64_t> list;
        list.reserve(static_cast<size_t>(size.len));
        for (int64_t i = 0; i < size.len; ++i) list.push_back(size.data[i]);
        return list;
    }

    /// The length of a list: that of its own, or the one length that all lists of the function have.
    [[nodiscard]] int64_t length_of(std::string_view list) const {
        int64_t count = 0;
        for (size_t i = 0; i < row_.args().size(); ++i) {
            if (row_.args()[i].list == list) return arguments_[i].integer;
            if (!row_.args()[i].list.empty()) count = arguments_[i].integer;
        }
        return count;
    }

    IValue tensors(int parameter, const c10::TypePtr& type) const {
        const int64_t count = length_of(arg(parameter).name);
        const auto* handles = static_cast<const diopiConstTensorHandle_t*>(at(parameter).pointer);
        const bool may_lack = type->expectRef<c10::ListType>().getElementType()->kind() == TypeKind::OptionalType;
        if (may_lack) {
            c10::List<c10::optional<at::Tensor>> list;
            for (int64_t i = 0; i < count; ++i) {
                const at::Tensor tensor = borrow(handles[i]);
                list.push_back(tensor.defined() ? c10::optional<at::Tensor>(tensor) : c10::nullopt);
            }
            return list;
        }
        c10::List<at::Tensor> list;
        for (int64_t i = 0; i < count; ++i) list.push_back(borrow(handles[i]));
        return list;
    }

    /// The state of the host's generator as a seed of PyTorch's: equal states draw equal numbers.
    uint64_t take_seed(int parameter) {
        generator_ = static_cast<diopiGeneratorHandle_t>(const_cast<void*>(at(parameter).pointer));
        TORCH_CHECK(diopiGeneratorGetSeedAndOffset(generator_, &seed_, &offset_) == diopiSuccess,
                    "the generator has no seed");
        // PyTorch's generator of the processor uses the low 32 bits of a seed: the high ones change them.
        const uint64_t state = seed_ ^ (offset_ * 0x9E3779B97F4A7C15u);
        return state ^ ((state >> 32) * 0x9E3779B1u);
    }

    /// PyTorch's own generator. Devices of other libraries may have none.
    static at::Generator own_generator() try {
        return at::globalContext().defaultGenerator(device());
    } catch (const c10::Error& e) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "PyTorch has no generator for ", device().str(), ": ",
                                    e.what_without_backtrace());
    }

    IValue generator(int parameter) {
        if (at(parameter).is_absent) return {};
        const uint64_t seed = take_seed(parameter);
        if (device().is_cpu()) return at::detail::createCPUGenerator(seed);
        at::Generator made = own_generator().clone();
        made.set_current_seed(seed);
        return made;
    }

    /// For overloads that draw from PyTorch's own generator.
    void seed_default(int parameter) {
        if (at(parameter).is_absent) return;
        at::Generator own = own_generator();
        const std::lock_guard lock(own.mutex());
        own.set_current_seed(take_seed(parameter));
    }

    void advance() const {
        constexpr uint64_t kNumbersOfACall = uint64_t{1} << 20;
        static_cast<void>(diopiGeneratorSetSeedAndOffset(generator_, seed_, offset_ + kNumbersOfACall));
    }

    void store(const Plan& plan, torch::jit::Stack& stack) const {
        for (size_t i = 0; i < plan.results.size(); ++i) {
            if (plan.results[i] < 0 || at(plan.results[i]).is_absent) continue;
            if (stack[i].isTensorList()) {
                store_list(plan.results[i], stack[i].toTensorVector());
            } else if (stack[i].isBool()) {
                *static_cast<bool*>(const_cast<void*>(at(plan.results[i]).pointer)) = stack[i].toBool();
            } else {
                store_one(plan.results[i], stack[i].toTensor());
            }
        }
    }

    void store_one(int parameter, const at::Tensor& result) const {
        if (!result.defined()) return;
        if (arg(parameter).kind == ArgKind::tensors) {
            auto* made = static_cast<diopiTensorHandle_t*>(const_cast<void*>(at(parameter).pointer));
            *made = give(ctx_, result);
            return;
        }
        at::Tensor out = borrow(handle(parameter));
        // native_dropout draws a flag for each element.
        TORCH_CHECK_NOT_IMPLEMENTED(out.numel() == result.numel(), "ATen's ", arg(parameter).name, " has ",
                                    result.numel(), " elements, and ", out.numel(), " are wanted");
        out.copy_(out.sizes() == result.sizes() ? result : result.reshape(out.sizes()));
    }

    void store_list(int parameter, const std::vector<at::Tensor>& results) const {
        const auto* handles = static_cast<const diopiConstTensorHandle_t*>(at(parameter).pointer);
        for (size_t i = 0; i < results.size(); ++i) borrow(handles[i]).copy_(results[i]);
    }

    const Row& row_;
    diopiContextHandle_t ctx_;
    const Argument* arguments_;
    diopiGeneratorHandle_t generator_ = nullptr;
    uint64_t seed_ = 0, offset_ = 0;
};

diopiError_t refuse(diopiError_t error, std::string message) {
    set_last_error(std::move(message));
    return error;
}

/// The error code of the standard for the message of an exception of PyTorch.
diopiError_t error_of(const std::string& message) {
    const bool is_dtype = message.find("not implemented for '") != std::string::npos ||
                          message.find("not implemented for the standard's dtype") != std::string::npos;
    return is_dtype ? diopiDtypeNotSupported : diopiErrorOccurred;
}

}  // namespace

diopiError_t call(size_t index, diopiContextHandle_t ctx, const Argument* arguments) noexcept try {
    const Row& row = rows()[index];
    const Plans& plans = plans_of(row);
    const OnStream on(ctx);
    Calling calling(row, ctx, arguments);
    for (const Plan& plan : plans.plans) {
        if (!calling.suits(plan)) continue;
        calling.run(plan);
        return diopiSuccess;
    }
    return refuse(diopiNoImplement, std::string(row.function) + ": no call of ATen suits these arguments" +
                                        (plans.drift.empty() ? "" : "; " + plans.drift));
} catch (const c10::NotImplementedError& e) {
    const std::string words = e.what_without_backtrace();
    if (const diopiError_t error = error_of(words); error != diopiErrorOccurred) return refuse(error, words);
    // Its first sentence; advice for builders of PyTorch follows.
    return refuse(diopiNoImplement, words.substr(0, words.find(". ")));
} catch (const c10::Error& e) {
    return refuse(error_of(e.what_without_backtrace()), e.what_without_backtrace());
} catch (const std::exception& e) {
    return refuse(diopiErrorOccurred, e.what());
}

}  // namespace diopi::torch_impl
