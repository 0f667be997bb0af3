#include "call/invoke.hpp"

#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <tuple>
#include <utility>

#include "call/arg_kind.hpp"
#include "call/unbox.hpp"

namespace diopi {

namespace {

using Thunk = diopiError_t (*)(AnyFunction, Context&, std::vector<Value>&);

template <class... Args, size_t... I>
diopiError_t call_unboxed(AnyFunction function, Context& context, std::vector<Value>& args, std::index_sequence<I...>) {
    std::tuple<Unbox<Args>...> unboxed(args[I]...);
    const auto typed = reinterpret_cast<diopiError_t (*)(diopiContextHandle_t, Args...)>(function);
    const diopiError_t error = typed(&context, std::get<I>(unboxed).get()...);
    (std::get<I>(unboxed).store(context, args[I]), ...);
    return error;
}

template <class Function>
struct ThunkOf;

/// One instance per signature, shared by all functions that have it.
template <class... Args>
struct ThunkOf<diopiError_t(diopiContextHandle_t, Args...)> {
    static diopiError_t call(AnyFunction function, Context& context, std::vector<Value>& args) {
        return call_unboxed<Args...>(function, context, args, std::index_sequence_for<Args...>());
    }
};

constexpr Thunk kThunks[] = {
#define DIOPI_ROW(function, ...) &ThunkOf<decltype(::function)>::call,
#include "schema/all.inc"
#undef DIOPI_ROW
};

}  // namespace

diopiError_t invoke(AnyFunction function, Context& context, Call& call) {
    return kThunks[call.row->index()](function, context, call.args);
}

Status validate(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const Value& value = call.args[i];
        if (is_null(value)) {
            if (arg.optional) continue;
            return bad_input(std::string(call.row->function) + ": argument " + std::string(arg.name) +
                             " is missing; it is a " + std::string(name(arg.kind)) + " and may not be null");
        }
        if (value.index() != alternative_of(arg.kind)) {
            return bad_input(std::string(call.row->function) + ": argument " + std::string(arg.name) + " must be a " +
                             std::string(name(arg.kind)));
        }
    }
    return {};
}

}  // namespace diopi
