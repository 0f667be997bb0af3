#include "direct_onednn.hpp"

namespace diopi::bench {

using dnnl::memory;

const dnnl::engine& direct_engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

memory::desc offered(Layouts layouts, const memory::desc& user) {
    return layouts == Layouts::plain ? user : onednn::any_layout(user);
}

void DirectProgram::add(const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive,
                        std::span<const Operand> operands) {
    std::unordered_map<int, memory> args;
    std::vector<std::pair<memory, memory>> results;
    for (const Operand& operand : operands) {
        const memory::desc wanted = desc.query_md(dnnl::query::exec_arg_md, operand.arg);
        if (!operand.is_output) {
            args.emplace(operand.arg, input_as(wanted, operand));
            continue;
        }
        const memory user(operand.desc, direct_engine(), operand.tensor->data());
        const memory made = wanted == operand.desc ? user : memory(wanted, direct_engine());
        if (wanted != operand.desc) results.emplace_back(made, user);
        args.emplace(operand.arg, made);
    }
    steps_.push_back({primitive, std::move(args)});
    for (const auto& [from, to] : results) add_reorder(from, to);
}

memory DirectProgram::input_as(const memory::desc& wanted, const Operand& operand) {
    const memory user(operand.desc, direct_engine(), operand.tensor->data());
    if (wanted == operand.desc) return user;
    for (const Reordered& earlier : reordered_) {
        if (earlier.tensor == operand.tensor && earlier.memory.get_desc() == wanted) return earlier.memory;
    }
    const memory made(wanted, direct_engine());
    add_reorder(user, made);
    reordered_.push_back({operand.tensor, made});
    return made;
}

void DirectProgram::add_reorder(const memory& from, const memory& to) {
    steps_.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
}

void DirectProgram::run() {
    for (const Step& step : steps_) step.primitive.execute(stream_, step.args);
    stream_.wait();
}

}  // namespace diopi::bench
