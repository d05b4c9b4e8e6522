#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <plumb/comm/reduce_op.h>
#include <plumb/core/error.h>

#include "comm/reduce_op.h"
#include "reductions/elements.h"

using namespace plumb;

TEST_CASE("operators: names and back") {
    const std::vector<std::pair<ReduceOp, std::string>> names = {
        {ReduceOp::sum, "SUM"}, {ReduceOp::product, "PRODUCT"}, {ReduceOp::min, "MIN"},
        {ReduceOp::max, "MAX"}, {ReduceOp::avg, "AVG"},         {ReduceOp::band, "BAND"},
        {ReduceOp::bor, "BOR"}, {ReduceOp::bxor, "BXOR"}};
    CHECK(std::size(kAllReduceOps) == names.size());
    for (const auto& [op, text] : names) {
        CHECK(name(op) == text);
        CHECK(reduce_op_from_name(text) == op);
        std::string lower = text;
        for (char& c : lower)
            c = static_cast<char>(c + 32);
        CHECK(reduce_op_from_name(lower) == op);
    }
}

TEST_CASE("operators: what is no name") {
    for (const std::string text : {"", "SU", "SUMS", "mean", "SUM ", "\x33\x35\x2d"}) {
        try {
            (void)reduce_op_from_name(text);
            FAIL_CHECK("no error for '" << text << "'");
        } catch (const ArgumentError& error) {
            CHECK(std::string(error.what()) ==
                  "reduce is '" + text + "', allowed are SUM, PRODUCT, MIN, MAX, AVG, BAND, BOR, BXOR");
        }
    }
}

TEST_CASE("operators: which dtypes they are defined for") {
    for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : kAllReduceOps) {
            CAPTURE(name(dtype));
            CAPTURE(name(op));
            CHECK(is_defined_for(op, dtype) == test::has_operator(dtype, op));
        }
    }
}

TEST_CASE("operators: the error names what is allowed") {
    const auto text = [](ReduceOp op, DType dtype) -> std::string {
        try {
            comm::require_defined_for(op, dtype);
        } catch (const ArgumentError& error) {
            return error.what();
        }
        return "no error";
    };
    CHECK(text(ReduceOp::product, DType::c64) ==
          "reduce is PRODUCT, which is not defined for complex64, allowed are SUM, AVG");
    CHECK(
        text(ReduceOp::avg, DType::i32) ==
        "reduce is AVG, which is not defined for int32, allowed are SUM, PRODUCT, MIN, MAX, BAND, BOR, BXOR");
    CHECK(text(ReduceOp::sum, DType::boolean) ==
          "reduce is SUM, which is not defined for bool, allowed are BAND, BOR, BXOR");
    CHECK(text(ReduceOp::bxor, DType::f8_e5m2) ==
          "reduce is BXOR, which is not defined for float8_e5m2, allowed are SUM, PRODUCT, MIN, MAX, AVG");
    CHECK(text(ReduceOp::avg, DType::bf16) == "no error");
}
