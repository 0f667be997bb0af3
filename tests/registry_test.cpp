// Checks the schema and the backends together: the parts that a new operator must have.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "backend/backend.hpp"
#include "infer/work.hpp"
#include "schema/schema.hpp"
#include "worker/backend_probe.hpp"

namespace diopi {
namespace {

const Backend& backend(std::string_view name) {
    const auto found = find_backend(name);
    REQUIRE(found.ok());
    return **found;
}

bool goes_forward(const Row& row) { return row.variant == Variant::forward || row.variant == Variant::inplace; }

}  // namespace

TEST_CASE("the schema describes each of the 538 operator functions once") {
    std::set<std::string_view> names;
    for (const Row& row : rows()) {
        INFO(row.function);
        CHECK(names.insert(row.function).second);
        CHECK(find_row(row.function) == &row);
        CHECK_FALSE(row.op.empty());
    }
    CHECK(rows().size() == 538);
}

TEST_CASE("a row's arguments have different names, and refer to present arguments") {
    for (const Row& row : rows()) {
        std::set<std::string_view> names;
        for (const Arg& arg : row.args()) {
            INFO(row.function << ", " << arg.name);
            CHECK(names.insert(arg.name).second);
            if (!arg.list.empty()) CHECK(row.find(arg.list) >= 0);
        }
    }
}

TEST_CASE("a row marks the arguments that may have another form") {
    const Row& conv = *find_row("diopiConvolution2d");
    CHECK(conv.traits.exact);
    CHECK(conv.traits.empty);
    CHECK_FALSE(conv.traits.zero_dim);
    const Arg& image = conv.args()[1];
    CHECK(image.name == "input");
    CHECK(image.channels_last);
    CHECK(image.spatial_dims == 2);
    const Row& norm = *find_row("diopiBatchNorm");
    CHECK(norm.args()[3].channels_last);
    CHECK(norm.args()[3].spatial_dims == -1);
    CHECK(norm.args()[static_cast<size_t>(norm.find("running_var"))].has_meaning);
    const Row& loss = *find_row("diopiNLLLoss");
    const Arg& target = loss.args()[2];
    CHECK(target.name == "target");
    CHECK(target.has_meaning);
    CHECK(target.four_bytes);
    CHECK(loss.args().back().standard == "-100");
}

TEST_CASE("a row has the facts of its function") {
    CHECK(find_row("diopiExp")->max_ulp == 3);
    CHECK(find_row("diopiAdd")->max_ulp == 0.5);
    CHECK(find_row("diopiAddcmul")->terms == 3);
    CHECK(find_row("diopiBmm")->rank == 3);
    CHECK(find_row("diopiMaxPool2d")->spatial_dims == 2);
    CHECK(find_row("diopiExpand")->case_only == "size");
    CHECK(find_row("diopiCopyInp")->traits.converts);
    const Row& softmax = *find_row("diopiSoftmax");
    CHECK(softmax.work.formula == WorkFormula::elements);
    CHECK(softmax.work.operations == 5);
    CHECK(softmax.args()[2].names_dims);
    CHECK(find_row("diopiRelu")->work.operations == 0);
    CHECK(find_row("diopiFusedAdamW")->work.formula == WorkFormula::listed_elements);
    CHECK(find_row("diopiConvexIouMmcv")->work.formula == WorkFormula::unknown);
    const Row& normal = *find_row("diopiNormalInp");
    CHECK(normal.law.law == Law::kNormal);
    CHECK(normal.args()[static_cast<size_t>(normal.law.output)].name == "inout");
    CHECK(normal.args()[static_cast<size_t>(normal.law.b)].name == "std");
    CHECK(normal.draws_into("inout"));
    CHECK_FALSE(find_row("diopiBernoulliInp")->draws_into("inout"));
    CHECK_FALSE(find_row("diopiFill")->draws_into("input"));
}

TEST_CASE("a row has the role of each argument") {
    const auto arg = [](std::string_view function, std::string_view name) -> const Arg& {
        const Row& row = *find_row(function);
        return row.args()[static_cast<size_t>(row.find(name))];
    };
    CHECK(arg("diopiAdd", "alpha").is_factor);
    CHECK_FALSE(arg("diopiAdd", "alpha").is_subtracted);
    CHECK(arg("diopiSubInp", "alpha").is_subtracted);
    CHECK(arg("diopiAdd", "alpha").standard == "1");
    CHECK(arg("diopiAdd", "other").influence == Influence::both);
    CHECK(arg("diopiWhere", "condition").influence == Influence::shape);
    CHECK(arg("diopiMaskedFill", "value").influence == Influence::none);
    CHECK(arg("diopiSgd", "grad").unwritten);
    CHECK(arg("diopiFill", "input").reading == Reading::nothing);
    CHECK(arg("diopiTril", "input").reading == Reading::lower);
    CHECK(arg("diopiConvolution2dBackward", "bias_sizes").shape_of == "bias");
    CHECK(arg("diopiTopKSampling", "generators").one_for_each == find_row("diopiTopKSampling")->find("batch_size"));
    CHECK(arg("diopiBanBadWordsInp", "bad_words").has_tokens);
    const Row& ffn = *find_row("diopiFusedSiluFfnInp");
    CHECK(ffn.has_workspace);
    CHECK(arg("diopiFusedSiluFfnInp", "workspace").bytes_at == ffn.find("workspace_size"));
    CHECK_FALSE(find_row("diopiAdd")->has_workspace);
    const Row& linear = *find_row("diopiLinearBackward");
    const Arg& weight = linear.args()[static_cast<size_t>(linear.find("weight"))];
    CHECK(weight.reading == Reading::for_output);
    CHECK(linear.args()[static_cast<size_t>(weight.reading_of)].name == "grad_input");
    CHECK(arg("diopiEmbedding", "padding_idx").row_of == 1);
    CHECK(arg("diopiMax", "max_indices").place_in == 2);
    CHECK(arg("diopiProd", "input").converted_to == 0);
    CHECK(arg("diopiSum", "input").converted_to == -1);
    const Row& conv = *find_row("diopiConvolution2dBackward");
    std::string sums;
    for (const SummedDim& summed : conv.summed_dims()) {
        const auto name = [&](int8_t at) { return std::string(conv.args()[static_cast<size_t>(at)].name); };
        sums += name(summed.output) + ": " + name(summed.arg) + "." + std::to_string(summed.dim);
        sums += summed.groups < 0 ? "; " : " where " + name(summed.groups) + " is 1; ";
    }
    CHECK(sums ==
          "grad_input: grad_output.1 where groups is 1; grad_input: weight.0 where groups is 1; "
          "grad_weight: grad_output.0; grad_weight: input.0; ");
}

TEST_CASE("every backward function belongs to an operator with a forward function") {
    for (const Row& row : rows()) {
        if (row.variant != Variant::backward) continue;
        bool has_forward = false;
        for (const Row* other : rows_of(row.op)) has_forward = has_forward || goes_forward(*other);
        INFO(row.function << " of " << row.op);
        CHECK(has_forward);
    }
}

TEST_CASE("an operator whose shape rules are described is complete in every backend: forward, in place and backward") {
    std::set<std::string_view> described;
    for (const Row& row : rows()) {
        const bool is_described = row.rule != ShapeRule::unknown;
        if (is_described) described.insert(row.op);
        for (const std::string_view name : {"reference", "cpu"}) {
            INFO(row.function << " in " << name);
            CHECK(backend(name).implements(row) == is_described);
        }
    }
    for (const std::string_view op : described) {
        for (const Row* row : rows_of(op)) {
            INFO(row->function << " of " << op);
            CHECK(row->rule != ShapeRule::unknown);
        }
    }
    CHECK(described.size() >= 86);
}

TEST_CASE("the cuda backend has the functions of complete rows, or none in a build without CUDA") {
    const Backend& cuda = backend("cuda");
    const Status device = probe_backend(cuda, 60);
    const bool is_built = device.ok() || device.message().find("this build has no cuda backend") == std::string::npos;
    for (const Row& row : rows()) {
        INFO(row.function);
        CHECK(cuda.implements(row) == (is_built && row.rule != ShapeRule::unknown && !row.traits.no_cuda));
    }
}

TEST_CASE("every implemented function has inference, an oracle and a formula of its work") {
    for (const Backend* each : backends()) {
        for (const Row& row : rows()) {
            if (!each->implements(row)) continue;
            INFO(row.function << " in " << each->name());
            CHECK(row.rule != ShapeRule::unknown);
            CHECK(reference_backend().implements(row));
            CHECK(row.work.formula != WorkFormula::unknown);
        }
    }
}

TEST_CASE("every function of the captures that come with the program is on both backends") {
    const std::string mark = "\"function\": \"";
    size_t calls = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(DIOPI_SOURCE_DIR) + "/cases/captures")) {
        std::ifstream file(entry.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
            at += mark.size();
            const std::string function = text.substr(at, text.find('"', at) - at);
            INFO(function << " of " << entry.path().filename());
            const Row* row = find_row(function);
            REQUIRE(row != nullptr);
            if (!backend("cpu").implements(*row) || !reference_backend().implements(*row)) CHECK(function.empty());
            ++calls;
        }
    }
    CHECK(calls > 2000);
}

TEST_CASE("backends are found by name, and cpu is the default") {
    REQUIRE_FALSE(backends().empty());
    CHECK(backends().front()->name() == "cpu");
    std::set<std::string_view> names;
    for (const Backend* each : backends()) {
        CHECK(names.insert(each->name()).second);
        CHECK(&backend(each->name()) == each);
    }
    CHECK(names.contains("cuda"));
    CHECK(names.contains("reference"));
    const auto missing = find_backend("gpu");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().code == Errc::kBadInput);
    CHECK(missing.error().message.find("'gpu'; there are: cpu, cuda, cuda+tf32, reference") != std::string::npos);
}

}  // namespace diopi
