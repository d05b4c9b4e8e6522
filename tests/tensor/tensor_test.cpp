#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/tensor.h>

#include "tensor/expect_error.h"

using plumb::ArgumentError;
using plumb::DType;
using plumb::Shape;
using plumb::Strides;
using plumb::Tensor;

namespace {

/// 0, 1, 2, …, row-major.
Tensor counting(const Shape& shape) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(plumb::element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(i);
    return Tensor::of(shape, values);
}

using Values = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("an undefined tensor") {
    const Tensor none;
    CHECK_FALSE(none.defined());
    CHECK_FALSE(none.shares_storage_with(none));
    expect_error<ArgumentError>([&] { static_cast<void>(none.data<float>()); }, {"undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.to_vector<float>()); }, {"undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.clone()); }, {"clone", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.contiguous()); }, {"contiguous", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.reshape({1})); }, {"reshape", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.expand({})); }, {"expand", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.narrow(0, 0, 0)); }, {"narrow", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.transpose(0, 0)); }, {"transpose", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.select(0, 0)); }, {"select", "undefined"});
    expect_error<ArgumentError>([&] { static_cast<void>(none.stride_by(0, 1)); }, {"stride_by", "undefined"});
    expect_error<ArgumentError>([&] { plumb::copy_out(none, {}); }, {"copy_out", "undefined"});
}

TEST_CASE("empty and zeros, every dtype") {
    for (const DType dtype : plumb::kAllDTypes) {
        const Tensor zeros = Tensor::zeros({2, 3}, dtype);
        CHECK(zeros.defined());
        CHECK(zeros.dtype() == dtype);
        CHECK(zeros.shape() == Shape{2, 3});
        CHECK(zeros.strides() == Strides{3, 1});
        CHECK(zeros.ndim() == 2);
        CHECK(zeros.extent(1) == 3);
        CHECK(zeros.element_count() == 6);
        CHECK(zeros.space() == plumb::MemorySpace::host);
        CHECK(zeros.is_contiguous());
        std::vector<std::byte> bytes(6 * plumb::size_of(dtype), std::byte{1});
        plumb::copy_out(zeros, bytes);
        CHECK(bytes == std::vector<std::byte>(bytes.size(), std::byte{0}));
    }
    CHECK(Tensor::empty({}, DType::f64).element_count() == 1);
    CHECK(Tensor::empty({3, 0}, DType::f64).element_count() == 0);
    CHECK(Tensor::empty({3, 0}, DType::f64).defined());
    CHECK(Tensor::empty({1, 2, 1, 2, 1, 2, 1, 2}, DType::i8).ndim() == 8);
}

TEST_CASE("what cannot be allocated") {
    expect_error<ArgumentError>([] { static_cast<void>(Tensor::empty({2, -1}, DType::f32)); }, {"[2, -1]"});
    const std::int64_t half = std::int64_t{1} << 62;
    CHECK_THROWS_AS(static_cast<void>(Tensor::empty({half}, DType::c128)), std::bad_alloc);
    CHECK_THROWS_AS(static_cast<void>(Tensor::empty({half}, DType::f32)), std::bad_alloc);
    expect_error<plumb::EnvironmentError>(
        [] { static_cast<void>(Tensor::empty({1}, DType::f32, plumb::MemorySpace::cuda)); },
        {"'cuda'", "'host'"});
}

TEST_CASE("from values and back") {
    CHECK(Tensor::of<float>({2, 2}, {1, 2, 3, 4}).to_vector<float>() == std::vector<float>{1, 2, 3, 4});
    CHECK(Tensor::of<bool>({3}, {true, false, true}).to_vector<bool>() ==
          std::vector<bool>{true, false, true});
    CHECK(Tensor::of<bool>({3}, {true, false, true}).bytes()[2] == std::byte{1});
    CHECK(Tensor::of<std::uint8_t>({1}, {200}).to_vector<std::uint8_t>() == std::vector<std::uint8_t>{200});
    using Complex = std::complex<double>;
    CHECK(Tensor::of<Complex>({1}, {{1.5, -2}}).to_vector<Complex>() == std::vector<Complex>{{1.5, -2}});
    CHECK(Tensor::of<double>({}, {7}).to_vector<double>() == std::vector<double>{7});
    CHECK(Tensor::of<double>({0, 4}, {}).to_vector<double>().empty());
    CHECK(Tensor::of<std::int64_t>({1}, {-5}).data<std::int64_t>()[0] == -5);
    CHECK(Tensor::of<std::int16_t>({1}, {-5}).dtype() == DType::i16);
    expect_error<ArgumentError>(
        [] {
            static_cast<void>(Tensor::of<float>({2, 2}, {1, 2, 3}));
        },
        {"Tensor::of", "3 values", "[2, 2]", "allowed: 4"});
    expect_error<ArgumentError>([] { static_cast<void>(Tensor::of<bool>({2}, {true})); },
                                {"1 values", "[2]"});
    const Tensor ints = counting({2});
    expect_error<ArgumentError>([&] { static_cast<void>(ints.data<float>()); }, {"float32", "dtype int32"});
    expect_error<ArgumentError>([&] { static_cast<void>(ints.to_vector<std::int64_t>()); },
                                {"int64", "int32"});
    std::vector<std::byte> bytes(7);
    expect_error<ArgumentError>([&] { plumb::copy_out(ints, bytes); }, {"copy_out", "7 bytes", "allowed: 8"});
}

TEST_CASE("copies of a tensor share its elements, clones do not") {
    Tensor tensor = counting({2, 3});
    const Tensor handle = tensor;
    const Tensor clone = tensor.clone();
    CHECK(handle.shares_storage_with(tensor));
    CHECK_FALSE(clone.shares_storage_with(tensor));
    tensor.data<std::int32_t>()[4] = 40;
    CHECK(handle.to_vector<std::int32_t>() == Values{0, 1, 2, 3, 40, 5});
    CHECK(clone.to_vector<std::int32_t>() == Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("the same storage seen through other strides") {
    const Tensor tensor = counting({2, 3, 4});
    const Tensor turned = tensor.transpose(0, -1);
    CHECK(turned.shape() == Shape{4, 3, 2});
    CHECK(turned.strides() == Strides{1, 4, 12});
    CHECK(turned.shares_storage_with(tensor));
    CHECK_FALSE(turned.is_contiguous());
    CHECK(turned.narrow(0, 1, 2).narrow(1, 2, 1).to_vector<std::int32_t>() == Values{9, 21, 10, 22});
    CHECK(tensor.narrow(-1, 2, 2).select(1, 1).to_vector<std::int32_t>() == Values{6, 7, 18, 19});
    CHECK(tensor.select(0, 1).select(0, 2).select(0, 3).to_vector<std::int32_t>() == Values{23});
    CHECK(tensor.select(-2, 0).shape() == Shape{2, 4});
    CHECK(tensor.select(0, 0).stride_by(1, 2).to_vector<std::int32_t>() == Values{0, 2, 4, 6, 8, 10});
    CHECK(tensor.select(0, 0).stride_by(-1, 3).to_vector<std::int32_t>() == Values{0, 3, 4, 7, 8, 11});
    CHECK(tensor.stride_by(0, 2).shape() == Shape{1, 3, 4});
    CHECK(tensor.stride_by(0, std::numeric_limits<std::int64_t>::max()).element_count() == 12);
    CHECK(counting({0, 2}).stride_by(0, 2).shape() == Shape{0, 2});
    CHECK(counting({2, 1}).expand({2, 3}).to_vector<std::int32_t>() == Values{0, 0, 0, 1, 1, 1});
    CHECK(counting({1, 2}).expand({3, 2}).strides() == Strides{0, 1});
    CHECK(counting({1}).expand({0}).element_count() == 0);
    CHECK(tensor.reshape({6, 4}).select(0, 5).to_vector<std::int32_t>() == Values{20, 21, 22, 23});
    CHECK(tensor.reshape({6, 4}).shares_storage_with(tensor));
    CHECK(counting({1}).reshape({}).ndim() == 0);
}

TEST_CASE("contiguous and clone") {
    const Tensor tensor = counting({2, 3});
    CHECK(tensor.contiguous().shares_storage_with(tensor));
    const Tensor turned = tensor.transpose(0, 1);
    const Tensor dense = turned.contiguous();
    CHECK_FALSE(dense.shares_storage_with(tensor));
    CHECK(dense.is_contiguous());
    CHECK(dense.shape() == Shape{3, 2});
    CHECK(dense.to_vector<std::int32_t>() == Values{0, 3, 1, 4, 2, 5});
    CHECK(turned.clone().strides() == Strides{2, 1});
    CHECK(tensor.clone().to_vector<std::int32_t>() == Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("strided views that cannot be had") {
    const Tensor tensor = counting({2, 3});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.transpose(0, 2)); },
                                {"transpose: dim_b: 2", "-2 to 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.narrow(-3, 0, 1)); },
                                {"narrow: dim: -3", "-2 to 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.narrow(1, 1, 3)); },
                                {"start 1", "length 3", "extent 3"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.select(2, 0)); }, {"select: dim: 2"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.select(0, 2)); }, {"index 2", "extent 2"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.stride_by(0, 0)); }, {"step 0", "1 and more"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.stride_by(9, 1)); }, {"stride_by: dim: 9"});
    expect_error<ArgumentError>(
        [&] {
            static_cast<void>(tensor.expand({2, 6}));
        },
        {"expand", "[2, 6] given", "[2, 3]", "extents of 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.expand({2, 3, 1})); }, {"[2, 3, 1] given"});
    expect_error<ArgumentError>([&] { static_cast<void>(counting({1}).expand({-1})); }, {"[-1] given"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.reshape({4})); },
                                {"reshape", "[4] given", "6 elements", "[2, 3]"});
    expect_error<ArgumentError>([&] { static_cast<void>(tensor.transpose(0, 1).reshape({6})); },
                                {"reshape", "[3, 2]", "strides [1, 3]", "contiguous"});
}

TEST_CASE("foreign memory is used in place and given back once") {
    std::vector<std::int32_t> memory{0, 1, 2, 3, 4, 5};
    int given_back = 0;
    {
        Tensor rest;
        {
            const Tensor tensor =
                Tensor::from_foreign(memory.data(), DType::i32, {2, 3}, {3, 1}, [&] { ++given_back; });
            CHECK(tensor.bytes() == reinterpret_cast<const std::byte*>(memory.data()));
            CHECK(tensor.to_vector<std::int32_t>() == memory);
            rest = tensor.transpose(0, 1).narrow(0, 1, 2).select(1, 1);
            const Tensor moved = std::move(rest);
            rest = moved;
        }
        CHECK(given_back == 0);
        memory[4] = 44;
        CHECK(rest.to_vector<std::int32_t>() == Values{44, 5});
        Tensor other = rest.clone();
        rest = other;
        CHECK(given_back == 1);
    }
    CHECK(given_back == 1);
}

TEST_CASE("foreign memory with any strides") {
    std::vector<std::int32_t> memory{0, 1, 2, 3, 4, 5};
    const auto view = [&](std::size_t first, const Shape& shape, const Strides& strides) {
        return Tensor::from_foreign(memory.data() + first, DType::i32, shape, strides)
            .to_vector<std::int32_t>();
    };
    CHECK(view(5, {6}, {-1}) == Values{5, 4, 3, 2, 1, 0});
    CHECK(view(2, {2, 3}, {3, -1}) == Values{2, 1, 0, 5, 4, 3});
    CHECK(view(3, {2, 2}, {0, 2}) == Values{3, 5, 3, 5});
    CHECK(view(1, {}, {}) == Values{1});
    CHECK(view(0, {3, 3}, {1, 1}) == Values{0, 1, 2, 1, 2, 3, 2, 3, 4});
}

TEST_CASE("foreign memory without elements, or refused") {
    int given_back = 0;
    const auto count = [&] { ++given_back; };
    CHECK(Tensor::from_foreign(nullptr, DType::f32, {2, 0}, {0, 1}, count).defined());
    CHECK(given_back == 1);
    // After an error the memory is still the caller's.
    expect_error<ArgumentError>(
        [&] {
            static_cast<void>(Tensor::from_foreign(nullptr, DType::f32, {2, 1}, {1, 1}, count));
        },
        {"from_foreign", "null", "[2, 1]"});
    float value = 0;
    expect_error<ArgumentError>(
        [&] {
            static_cast<void>(Tensor::from_foreign(&value, DType::f32, {1, 1}, {1}, count));
        },
        {"from_foreign", "strides [1]", "shape [1, 1]", "one stride per dimension"});
    expect_error<ArgumentError>(
        [&] { static_cast<void>(Tensor::from_foreign(&value, DType::f32, {-1}, {1}, count)); },
        {"negative", "[-1]"});
    const std::int64_t half = std::int64_t{1} << 62;
    for (const std::int64_t stride : {half, -half, half / 2})
        expect_error<ArgumentError>(
            [&] { static_cast<void>(Tensor::from_foreign(&value, DType::f32, {3}, {stride}, count)); },
            {"from_foreign", "reaches further"});
    CHECK(given_back == 1);
}
