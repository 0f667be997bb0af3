#include "call/chain.hpp"

#include "call/invoke.hpp"
#include "call/workspace.hpp"

namespace diopi {

namespace {

Outcome call_backend(const Backend& backend, Call& call, Context& context) {
    AnyFunction function = backend.function(*call.row);
    if (function == nullptr) return {diopiNoImplement, lacks(backend, call.row->function).message};
    if (Plugin* plugin = backend.plugin(); plugin != nullptr && !plugin->is_open()) {
        if (Status s = plugin->open(); !s.ok()) return {diopiNotInited, s.message()};
        function = backend.function(*call.row);
    }
    if (const Backend::Setting set = backend.setting()) set();
    set_last_error({});
    const auto invoke_it = call.row->has_workspace ? invoke_with_workspace : invoke;
    const diopiError_t error = invoke_it(function, context, call);
    if (error == diopiSuccess) return {};
    return {error, backend.error_text(error)};
}

}  // namespace

Outcome Next::operator()(Call& call, Context& context) const {
    if (begin_ == end_) return call_backend(*backend_, call, context);
    return (*begin_)->around(call, context, Next(*backend_, begin_ + 1, end_));
}

Outcome Chain::run(Call& call, Context& context) const {
    return Next(*backend_, interceptors_.data(), interceptors_.data() + interceptors_.size())(call, context);
}

}  // namespace diopi
