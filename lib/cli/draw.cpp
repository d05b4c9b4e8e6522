#include "cli/draw.h"

#include <cstring>

#include <plumb/tensor/convert.h>

namespace plumb::cli {

namespace {

/// The finalizer of splitmix64: a bijection that mixes all bits.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

template <class T>
void put(std::byte* place, T value) {
    std::memcpy(place, &value, sizeof value);
}

std::int64_t whole_number(std::uint64_t word, std::int64_t most) {
    return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(2 * most + 1)) - most;
}

/// A multiple of 2^-22 or 2^-51 in [-2, 2): exact in the type.
float real_f32(std::uint64_t word) {
    return static_cast<float>(static_cast<std::int32_t>(word >> 40U) - (1 << 23)) * 0x1p-22F;
}
double real_f64(std::uint64_t word) {
    return static_cast<double>(static_cast<std::int64_t>(word >> 11U) - (std::int64_t{1} << 52)) * 0x1p-51;
}

void put_number(std::byte* place, DType dtype, std::uint64_t word, Data data) {
    const bool whole = data == Data::whole;
    const std::int64_t number = whole_number(word, whole ? 4 : 100);
    switch (dtype) {
        case DType::boolean:
            return put<std::uint8_t>(place, word & 1U);
        case DType::u8:
            return put(place, static_cast<std::uint8_t>(number < 0 ? -number : number));
        case DType::i8:
            return put(place, static_cast<std::int8_t>(number));
        case DType::i16:
            return put(place, static_cast<std::int16_t>(number));
        case DType::i32:
            return put(place, static_cast<std::int32_t>(number));
        case DType::i64:
            return put(place, number);
        case DType::f32:
        case DType::c64:
            return put(place, whole ? static_cast<float>(number) : real_f32(word));
        case DType::f64:
        case DType::c128:
            return put(place, whole ? static_cast<double>(number) : real_f64(word));
        case DType::f16:
        case DType::bf16:
        case DType::f8_e4m3fn:
        case DType::f8_e5m2:
            return store_f32(dtype, place, whole ? static_cast<float>(number) : real_f32(word));
    }
}

}  // namespace

std::string_view name(Data data) {
    switch (data) {
        case Data::bits:
            return "bits";
        case Data::real:
            return "real";
        case Data::whole:
            return "whole";
    }
    return "?";
}

std::uint64_t draw(std::uint64_t key, std::uint64_t index) {
    return mix(mix(key) + (index + 1) * 0x9e3779b97f4a7c15U);
}

std::uint64_t sub_key(std::uint64_t key, std::uint64_t part) {
    return draw(key ^ 0x5851f42d4c957f2dU, part);
}

Tensor draw_tensor(std::uint64_t key, const Shape& shape, DType dtype, Data data) {
    Tensor tensor = Tensor::empty(shape, dtype);
    const std::size_t parts = is_complex(dtype) ? 2 : 1;
    const std::size_t bytes = size_of(dtype) / parts;
    const std::size_t count = static_cast<std::size_t>(tensor.element_count()) * parts;
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* place = tensor.bytes() + i * bytes;
        const std::uint64_t word = draw(key, i);
        if (data == Data::bits && dtype != DType::boolean)
            std::memcpy(place, &word, bytes);
        else
            put_number(place, dtype, word, data);
    }
    return tensor;
}

}  // namespace plumb::cli
