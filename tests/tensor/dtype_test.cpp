#include <doctest/doctest.h>

#include <string>

#include <plumb/core/error.h>
#include <plumb/tensor/dtype.h>

#include "tensor/expect_error.h"

using plumb::DType;

namespace {

struct Row {
    DType dtype;
    const char* name;
    const char* short_name;
    std::size_t size;
    bool floating;
    bool integer;
    bool complex;
};

constexpr Row kRows[] = {{DType::boolean, "bool", "bool", 1, false, false, false},
                         {DType::u8, "uint8", "u8", 1, false, true, false},
                         {DType::i8, "int8", "i8", 1, false, true, false},
                         {DType::i16, "int16", "i16", 2, false, true, false},
                         {DType::i32, "int32", "i32", 4, false, true, false},
                         {DType::i64, "int64", "i64", 8, false, true, false},
                         {DType::f16, "float16", "f16", 2, true, false, false},
                         {DType::bf16, "bfloat16", "bf16", 2, true, false, false},
                         {DType::f32, "float32", "f32", 4, true, false, false},
                         {DType::f64, "float64", "f64", 8, true, false, false},
                         {DType::c64, "complex64", "c64", 8, false, false, true},
                         {DType::c128, "complex128", "c128", 16, false, false, true},
                         {DType::f8_e4m3fn, "float8_e4m3fn", "f8_e4m3fn", 1, true, false, false},
                         {DType::f8_e5m2, "float8_e5m2", "f8_e5m2", 1, true, false, false}};

}  // namespace

TEST_CASE("names, sizes and kinds of all dtypes") {
    CHECK(std::size(kRows) == std::size(plumb::kAllDTypes));
    std::size_t at = 0;
    for (const Row& row : kRows) {
        CAPTURE(row.name);
        CHECK(plumb::kAllDTypes[at++] == row.dtype);
        CHECK(plumb::name(row.dtype) == row.name);
        CHECK(plumb::short_name(row.dtype) == row.short_name);
        CHECK(plumb::dtype_from_name(row.name) == row.dtype);
        CHECK(plumb::dtype_from_name(row.short_name) == row.dtype);
        CHECK(plumb::size_of(row.dtype) == row.size);
        CHECK(plumb::is_floating(row.dtype) == row.floating);
        CHECK(plumb::is_integer(row.dtype) == row.integer);
        CHECK(plumb::is_complex(row.dtype) == row.complex);
        CHECK(plumb::is_float8(row.dtype) == (row.size == 1 && row.floating));
    }
}

TEST_CASE("an unknown name is refused with the list of known ones") {
    for (const char* text : {"", "float", "FLOAT32", "f32 ", "float8", "uint16"}) {
        CAPTURE(text);
        expect_error<plumb::ArgumentError>([&] { static_cast<void>(plumb::dtype_from_name(text)); },
                                           {"dtype", "'" + std::string(text) + "'", "allowed", "bool",
                                            "float32 (f32)", "bfloat16 (bf16)", "float8_e5m2 (f8_e5m2)"});
    }
}

TEST_CASE("dtypes of C++ types") {
    CHECK(plumb::dtype_of<bool>() == DType::boolean);
    CHECK(plumb::dtype_of<std::uint8_t>() == DType::u8);
    CHECK(plumb::dtype_of<std::int8_t>() == DType::i8);
    CHECK(plumb::dtype_of<std::int16_t>() == DType::i16);
    CHECK(plumb::dtype_of<std::int32_t>() == DType::i32);
    CHECK(plumb::dtype_of<std::int64_t>() == DType::i64);
    CHECK(plumb::dtype_of<float>() == DType::f32);
    CHECK(plumb::dtype_of<double>() == DType::f64);
    CHECK(plumb::dtype_of<std::complex<float>>() == DType::c64);
    CHECK(plumb::dtype_of<std::complex<double>>() == DType::c128);
}
