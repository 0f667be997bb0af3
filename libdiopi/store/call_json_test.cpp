#include "store/call_json.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/device.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

constexpr double kInf = std::numeric_limits<double>::infinity();

TensorPtr tensor_of(const TensorSpec& spec, int64_t offset, int64_t extent) {
    auto tensor = make_view(cpu_device(), spec, offset, extent);
    REQUIRE(tensor.ok());
    return *tensor;
}

std::string place_of(const Tensor&, const std::string& place) { return place; }

/// Gives an empty tensor of the reference's kind, and notes what was asked for.
struct Finder {
    std::vector<TensorReference> seen;
    Result<TensorPtr> operator()(const TensorReference& reference) {
        seen.push_back(reference);
        return tensor_of(reference.spec, reference.offset, reference.extent);
    }
};

Result<StoredCall> read(const std::string& text) { return call_from_json(text, "file.h5", Finder()); }

Call add_call(const Scalar& alpha) {
    Call call(*find_row("diopiAdd"));
    call["input"] = tensor_of({{2, 3}, Dtype::float16, {1, 4}}, 3, 16);
    call["other"] = tensor_of({{}, Dtype::int64, {}}, 0, 1);
    call["alpha"] = alpha;
    return call;
}

std::string add_text() { return *call_to_json(add_call(Scalar::of(2.5)), place_of); }

/// The text with one part replaced; the part must be there.
std::string with(std::string text, const std::string& part, const std::string& by) {
    const size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
}

/// A call of some function that takes this C type, with `value` there and tensors where they are wanted; and where that
/// is. None where each such function wants more.
std::pair<std::optional<Call>, size_t> call_taking(ArgKind kind, const Value& value) {
    for (const Row& row : rows()) {
        Call call(row);
        size_t at = row.num_args;
        bool sound = true;
        for (size_t i = 0; i < row.num_args; ++i) {
            const Arg& arg = row.args()[i];
            if (at == row.num_args && arg.kind == kind) {
                at = i;
                call.args[i] = value;
            } else if (arg.is_tensor()) {
                call.args[i] = tensor_of({{2}, Dtype::float32, {}}, 0, 2);
            } else {
                sound &= arg.optional || arg.is_output || arg.kind == ArgKind::pointer;
            }
        }
        if (at < row.num_args && sound) return {std::move(call), at};
    }
    return {std::nullopt, 0};
}

}  // namespace

TEST_CASE("every kind of value comes back from JSON", "[store][call_json]") {
    diopiGenerator generator{UINT64_MAX, 7};
    Call normal(*find_row("diopiNormalInp"));
    normal["inout"] = tensor_of({{4}, Dtype::float32, {}}, 0, 4);
    normal["mean"] = -0.0;
    normal["std"] = kInf;
    normal["generator"] = diopiGeneratorHandle_t{&generator};
    const auto text = call_to_json(normal, place_of);
    REQUIRE(text.ok());
    const auto read_back = read(*text);
    REQUIRE(read_back.ok());
    const Call& call = read_back->call;
    CHECK(call.row == normal.row);
    CHECK(std::signbit(std::get<double>(call["mean"])));
    CHECK(std::get<double>(call["std"]) == kInf);
    const auto* handle = std::get<diopiGeneratorHandle_t>(call["generator"]);
    CHECK(handle != &generator);
    CHECK((handle->seed == UINT64_MAX && handle->offset == 7));

    for (const Scalar& alpha : {Scalar::of(-2.5), Scalar::of(int64_t{INT64_MIN}), Scalar::of(true), Scalar::of(kInf),
                                Scalar{Dtype::float32, 0.1, 0}}) {
        const auto again = read(*call_to_json(add_call(alpha), place_of));
        REQUIRE(again.ok());
        CHECK(std::get<Scalar>(again->call["alpha"]) == alpha);
        CHECK(is_null(again->call["out"]));
    }
    const auto nan = read(*call_to_json(add_call(Scalar::of(std::nan(""))), place_of));
    CHECK(std::isnan(std::get<Scalar>(nan->call["alpha"]).real));
}

TEST_CASE("values of every C type that a function takes come back", "[store][call_json]") {
    const std::vector<std::pair<ArgKind, Value>> values = {{ArgKind::int_list, IntList{3, -1, INT64_MAX}},
                                                           {ArgKind::int64, int64_t{INT64_MIN}},
                                                           {ArgKind::boolean, true},
                                                           {ArgKind::text, std::string("a \"b\" \\ ü \n")},
                                                           {ArgKind::reduction, int64_t{1}},
                                                           {ArgKind::float32, 0.1},
                                                           {ArgKind::int64_ptr, int64_t{5}}};
    int seen = 0;
    for (const auto& [kind, value] : values) {
        const auto [call, at] = call_taking(kind, value);
        if (!call) continue;
        const auto again = read(*call_to_json(*call, place_of));
        REQUIRE(again.ok());
        CHECK(again->call.args[at] == value);
        ++seen;
    }
    CHECK(seen >= 5);
}

TEST_CASE("a tensor's reference says where its elements lie, in lists too", "[store][call_json]") {
    Finder finder;
    const auto ask = [&](const TensorReference& reference) { return finder(reference); };
    REQUIRE(call_from_json(add_text(), "file.h5", ask).ok());
    REQUIRE(finder.seen.size() == 2);
    CHECK(finder.seen[0] == TensorReference{"input", {{2, 3}, Dtype::float16, {1, 4}}, 3, 16});
    CHECK_FALSE(finder.seen[0].is_dense());
    CHECK(finder.seen[1] == TensorReference{"other", {{}, Dtype::int64, {}}, 0, 1});
    CHECK(finder.seen[1].is_dense());

    Call cat(*find_row("diopiCat"));
    cat["tensors"] = TensorList{tensor_of({{2}, Dtype::float32, {}}, 0, 2), nullptr};
    cat["num_inputs"] = int64_t{2};
    cat["dim"] = int64_t{0};
    finder.seen.clear();
    const auto stored = call_from_json(*call_to_json(cat, place_of), "file.h5", ask);
    REQUIRE(stored.ok());
    REQUIRE(finder.seen.size() == 1);
    CHECK(finder.seen[0].tensor == "tensors.0");
    const auto& list = std::get<TensorList>(stored->call["tensors"]);
    CHECK((list.size() == 2 && list[0] != nullptr && list[1] == nullptr));
}

TEST_CASE("what a call's JSON may not say is refused by member and reason", "[store][call_json]") {
    struct Row {
        const char* part;
        const char* by;
        const char* message;
    };
    const Row refused[] = {
        {"diopiAdd", "diopiAd", "/function: the standard has no function 'diopiAd' (did you mean 'diopiAdd'"},
        {"\"function\"", "\"functoin\"", "unknown member 'functoin' (did you mean 'function'?)"},
        {"\"name\":\"other\"", "\"name\":\"input\"", "/args/2/name: 'input' stands where other is wanted"},
        {"\"kind\":\"tensor\"", "\"kind\":\"tensors\"", "/args/1/kind: 'tensors' where input takes 'tensor'"},
        {"\"kind\":\"number\"", "\"kind\":\"floating\"", "/args/3/kind: 'floating' where alpha takes 'number'"},
        {"{\"name\":\"out\",\"kind\":\"null\"}", "{\"name\":\"out\",\"kind\":\"null\",\"value\":1}", "'value'"},
        {"{\"name\":\"out\",\"kind\":\"null\"},", "", "has 4 arguments"},
        {"2.5", "\"2.5\"", "a number, \"nan\", \"inf\" or \"-inf\" is wanted"},
        {"float16", "float17", "there is no dtype 'float17'"},
        {"\"dtype\":\"float16\"", "\"dtype\":16", "/args/1/value/dtype: a text is wanted"},
        {"[2,3]", "[2,-3]", "is no shape that a tensor can have"},
        {"[2,3]", "[9223372036854775807,3]", "is no shape"},
        {"[2,3]", "[2,9223372036854775808]", "an integer of 64 bits with a sign is wanted"},
        {"[1,4]", "[1]", "1 strides for 2 dims"},
        {"[1,4]", "[1,-4]", "are no strides that a tensor can have"},
        {"[1,4]", "[1,4611686018427387904]", "are no strides"},
        {"\"offset\":3", "\"offset\":-1", "do not lie within a storage of 16"},
        {"\"offset\":3", "\"offset\":7", "do not lie within a storage of 16"},
        {"\"extent\":16", "\"extent\":12", "do not lie within a storage of 12"},
        {"\"extent\":16", "\"extent\":9223372036854775807", "do not lie within"},
        {"\"tensor\":\"input\"", "\"tensor\":\"../input\"", "no name of a tensor"},
        {"\"offset\":3", "\"offset\":3,\"offset\":3", "the key 'offset' occurs twice"},
        {"\"offset\":3", "\"offset\":[[[[[[[[[[[[[[[[[3]]]]]]]]]]]]]]]]]", "nested too deeply"},
        {"2.5", "1e999", "number overflow"},
        {"2.5", "", "parse error"},
    };
    for (const Row& row : refused) {
        INFO(row.part << " -> " << row.by);
        const auto stored = read(with(add_text(), row.part, row.by));
        REQUIRE_FALSE(stored.ok());
        CHECK(stored.error().code == Errc::kBadInput);
        CHECK_THAT(stored.error().message, Contains("file.h5: ") && Contains(row.message));
    }
    CHECK_THAT(read("[]").error().message, Contains("an object is wanted"));
    // Suggestions for such a name would take minutes.
    const std::string endless(size_t{4} << 20, 'd');
    CHECK_FALSE(read(with(add_text(), "diopiAdd", endless)).ok());
    CHECK_FALSE(read(with(add_text(), "\"function\"", '"' + endless + '"')).ok());
    const std::string input = add_text();
    const size_t begin = input.find("{\"name\":\"input\""), end = input.find(",{\"name\":\"other\"");
    const std::string null_input = input.substr(0, begin) + R"({"name":"input","kind":"null"})" + input.substr(end);
    CHECK_THAT(read(null_input).error().message, Contains("input may not be null"));
}

TEST_CASE("a call that does not fit its C types, or is sparse, is not written", "[store][call_json]") {
    Call call = add_call(Scalar::of(1.0));
    call["alpha"] = 1.0;
    CHECK_THAT(call_to_json(call, place_of).error().message, Contains("argument alpha holds 'floating'"));
    call = add_call(Scalar::of(1.0));
    const TensorPtr sparse = tensor_of({{2, 2}, Dtype::float32, {}}, 0, 4);
    sparse->values = tensor_of({{1}, Dtype::float32, {}}, 0, 1);
    call["input"] = sparse;
    CHECK_THAT(call_to_json(call, place_of).error().message, Contains("input is sparse"));
}

TEST_CASE("outputs and layouts come back, an output that the function has not is refused", "[store][call_json]") {
    const diopi::Row& row = *find_row("diopiAdd");
    const std::vector<OutputSpec> outputs = {{0, {{2, 3}, Dtype::bfloat16, {1, 2}}, false}};
    const auto read_back = outputs_from_json(outputs_to_json(row, outputs), "f", row);
    REQUIRE(read_back.ok());
    CHECK(read_back->front().arg == 0);
    CHECK(read_back->front().spec == outputs[0].spec);
    CHECK_FALSE(read_back->front().has_meaning);
    const std::string text = with(outputs_to_json(row, outputs), "\"out\"", "\"input\"");
    CHECK_THAT(outputs_from_json(text, "f", row).error().message, Contains("diopiAdd has no output 'input'"));
    const std::vector<TensorReference> layouts = {{"tensors.1", {{2}, Dtype::boolean, {5}}, 1, int64_t{1} << 33}};
    CHECK(*layouts_from_json(layouts_to_json(layouts), "f") == layouts);
    CHECK_FALSE(layouts_from_json("{}", "f").ok());
}

}  // namespace diopi
