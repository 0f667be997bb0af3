#include "profile/call_facts.hpp"

#include "call/tensors.hpp"
#include "infer/work.hpp"

namespace diopi {

void describe_call(const Call& call, ProfiledCall& profiled) {
    profiled.function = call.row->function;
    profiled.shapes.clear();
    bool is_first = true;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read()) return;
        profiled.shapes.push_back(tensor->shape);
        if (is_first) profiled.dtype = tensor->dtype;
        is_first = false;
    });
    const CallWork work = work_of(call);
    profiled.flops = work.flops;
    profiled.bytes = work.bytes;
}

}  // namespace diopi
