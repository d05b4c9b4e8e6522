#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/dlpack.h>

#include "tensor/expect_error.h"

using plumb::ArgumentError;
using plumb::DType;
using plumb::Shape;
using plumb::Strides;
using plumb::Tensor;

namespace {

/// What another library would hand over: six floats as 2 x 3.
struct Producer {
    Producer() {
        managed.dl_tensor.data = values.data();
        managed.dl_tensor.device = {kDLCPU, 0};
        managed.dl_tensor.ndim = 2;
        managed.dl_tensor.dtype = {kDLFloat, 32, 1};
        managed.dl_tensor.shape = shape.data();
        managed.dl_tensor.strides = strides.data();
        managed.dl_tensor.byte_offset = 0;
        managed.manager_ctx = this;
        managed.deleter = [](DLManagedTensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    }
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    alignas(16) std::array<float, 8> values{0, 1, 2, 3, 4, 5, 6, 7};
    std::array<std::int64_t, 9> shape{2, 3, 1, 1, 1, 1, 1, 1, 1};
    std::array<std::int64_t, 9> strides{3, 1, 1, 1, 1, 1, 1, 1, 1};
    DLManagedTensor managed{};
    int deleted = 0;
};

void expect_refused(Producer& producer, std::initializer_list<std::string_view> parts) {
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::from_dlpack(&producer.managed)); }, parts);
    CHECK(producer.deleted == 0);
}

struct Type {
    DType dtype;
    std::uint8_t code;
    std::uint8_t bits;
};

constexpr Type kBothWays[] = {{DType::u8, 1, 8},    {DType::i8, 0, 8},    {DType::i16, 0, 16},
                              {DType::i32, 0, 32},  {DType::i64, 0, 64},  {DType::f16, 2, 16},
                              {DType::bf16, 4, 16}, {DType::f32, 2, 32},  {DType::f64, 2, 64},
                              {DType::c64, 5, 64},  {DType::c128, 5, 128}};
constexpr Type kImported[] = {{DType::boolean, 6, 8}, {DType::f8_e4m3fn, 10, 8}, {DType::f8_e5m2, 12, 8}};

}  // namespace

TEST_CASE("from_dlpack: in place, and deleted once, with the last tensor") {
    Producer producer;
    {
        Tensor rest;
        {
            const Tensor tensor = plumb::from_dlpack(&producer.managed);
            CHECK(tensor.dtype() == DType::f32);
            CHECK(tensor.shape() == Shape{2, 3});
            CHECK(tensor.strides() == Strides{3, 1});
            CHECK(tensor.bytes() == reinterpret_cast<const std::byte*>(producer.values.data()));
            rest = tensor.transpose(0, 1).select(0, 2);
        }
        CHECK(producer.deleted == 0);
        producer.values[5] = 55;
        CHECK(rest.to_vector<float>() == std::vector<float>{2, 55});
    }
    CHECK(producer.deleted == 1);
}

TEST_CASE("from_dlpack: strides, offset, missing deleter") {
    SUBCASE("null strides are row-major") {
        Producer producer;
        producer.managed.dl_tensor.strides = nullptr;
        CHECK(plumb::from_dlpack(&producer.managed).to_vector<float>() ==
              std::vector<float>{0, 1, 2, 3, 4, 5});
    }
    SUBCASE("strides and offset") {
        Producer producer;
        producer.managed.dl_tensor.byte_offset = 8;
        producer.strides = {1, 2};
        CHECK(plumb::from_dlpack(&producer.managed).to_vector<float>() ==
              std::vector<float>{2, 4, 6, 3, 5, 7});
    }
    SUBCASE("negative strides") {
        Producer producer;
        producer.managed.dl_tensor.byte_offset = 20;
        producer.strides = {-3, -1};
        CHECK(plumb::from_dlpack(&producer.managed).to_vector<float>() ==
              std::vector<float>{5, 4, 3, 2, 1, 0});
    }
    SUBCASE("scalar, whose shape may be null") {
        Producer producer;
        producer.managed.dl_tensor.ndim = 0;
        producer.managed.dl_tensor.shape = nullptr;
        producer.managed.dl_tensor.strides = nullptr;
        producer.managed.dl_tensor.byte_offset = 12;
        CHECK(plumb::from_dlpack(&producer.managed).to_vector<float>() == std::vector<float>{3});
    }
    SUBCASE("no elements, null data") {
        Producer producer;
        producer.shape[1] = 0;
        producer.managed.dl_tensor.data = nullptr;
        CHECK(plumb::from_dlpack(&producer.managed).shape() == Shape{2, 0});
        CHECK(producer.deleted == 1);
    }
    SUBCASE("no deleter") {
        Producer producer;
        producer.managed.deleter = nullptr;
        CHECK(plumb::from_dlpack(&producer.managed).element_count() == 6);
    }
}

TEST_CASE("from_dlpack: element types") {
    const auto check = [](const Type& type) {
        Producer producer;
        producer.managed.dl_tensor.dtype = {type.code, type.bits, 1};
        producer.managed.dl_tensor.ndim = 1;
        CHECK(plumb::from_dlpack(&producer.managed).dtype() == type.dtype);
    };
    for (const Type& type : kBothWays)
        check(type);
    for (const Type& type : kImported)
        check(type);
}

TEST_CASE("from_dlpack: what is refused stays with the caller") {
    expect_error<ArgumentError>([] { static_cast<void>(plumb::from_dlpack(nullptr)); },
                                {"from_dlpack", "null"});
    Producer producer;
    DLTensor& given = producer.managed.dl_tensor;
    SUBCASE("lanes") {
        given.dtype.lanes = 4;
        expect_refused(producer, {"from_dlpack", "4 lanes given", "allowed: 1"});
    }
    SUBCASE("types") {
        for (const auto& [code, bits] :
             {std::pair{1, 16}, {1, 64}, {0, 4}, {2, 8}, {3, 64}, {5, 32}, {4, 32}, {7, 8}}) {
            given.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
            expect_refused(producer,
                           {"from_dlpack", "code " + std::to_string(code),
                            std::to_string(bits) + " bits given", "allowed: int (0) of 8, 16, 32, 64"});
        }
    }
    SUBCASE("devices") {
        given.device = {kDLCUDA, 3};
        expect_refused(producer, {"from_dlpack", "device type 2, id 3 given", "kDLCPU"});
        given.device = {kDLROCM, 0};
        expect_refused(producer, {"device type 10"});
    }
    SUBCASE("dimensions") {
        given.ndim = 9;
        expect_refused(producer, {"9 dimensions given", "0 to 8"});
        given.ndim = -1;
        expect_refused(producer, {"-1 dimensions given", "0 to 8"});
        given.ndim = 2;
        given.shape = nullptr;
        expect_refused(producer, {"shape is null"});
    }
    SUBCASE("extents") {
        producer.shape = {2, -3};
        expect_refused(producer, {"negative", "[2, -3]"});
        producer.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
        expect_refused(producer, {"too many elements"});
    }
    SUBCASE("null data") {
        given.data = nullptr;
        expect_refused(producer, {"null", "[2, 3]"});
    }
}

TEST_CASE("to_dlpack: shares the storage and keeps it") {
    std::vector<float> memory{0, 1, 2, 3, 4, 5};
    int given_back = 0;
    DLManagedTensor* managed = nullptr;
    {
        const Tensor tensor =
            Tensor::from_foreign(memory.data(), DType::f32, {2, 3}, {3, 1}, [&] { ++given_back; });
        managed = plumb::to_dlpack(tensor.transpose(0, 1).narrow(0, 1, 2));
    }
    CHECK(given_back == 0);
    const DLTensor& out = managed->dl_tensor;
    CHECK(out.data == memory.data() + 1);
    CHECK(out.byte_offset == 0);
    CHECK(out.ndim == 2);
    CHECK(out.shape[0] == 2);
    CHECK(out.shape[1] == 2);
    CHECK(out.strides[0] == 1);
    CHECK(out.strides[1] == 3);
    CHECK(out.device.device_type == kDLCPU);
    CHECK(out.device.device_id == 0);
    managed->deleter(managed);
    CHECK(given_back == 1);
}

TEST_CASE("to_dlpack: element types") {
    const auto check = [](const Type& type) {
        DLManagedTensor* const managed = plumb::to_dlpack(Tensor::zeros({2}, type.dtype));
        CHECK(managed->dl_tensor.dtype.code == type.code);
        CHECK(managed->dl_tensor.dtype.bits == type.bits);
        CHECK(managed->dl_tensor.dtype.lanes == 1);
        managed->deleter(managed);
    };
    for (const Type& type : kBothWays)
        check(type);
    check({DType::boolean, 1, 8});
    for (const DType dtype : {DType::f8_e4m3fn, DType::f8_e5m2})
        expect_error<ArgumentError>([&] { static_cast<void>(plumb::to_dlpack(Tensor::zeros({2}, dtype))); },
                                    {"to_dlpack", plumb::name(dtype), "no code", "allowed"});
    expect_error<ArgumentError>([] { static_cast<void>(plumb::to_dlpack(Tensor())); },
                                {"to_dlpack", "undefined"});
    float value = 0;
    const Tensor device = Tensor::from_foreign(&value, DType::f32, {}, {}, {}, plumb::MemorySpace::cuda);
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::to_dlpack(device)); },
                                {"to_dlpack", "'cuda' given"});
}

TEST_CASE("there and back") {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{1, 2, 1, 2, 1, 2, 1, 2}}) {
        const Tensor tensor = Tensor::zeros(shape, DType::c64);
        const Tensor back = plumb::from_dlpack(plumb::to_dlpack(tensor));
        CHECK(back.shape() == shape);
        CHECK(back.dtype() == DType::c64);
        CHECK(back.bytes() == tensor.bytes());
    }
}
