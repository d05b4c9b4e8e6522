#include <plumb/tensor/convert.h>

#include <string>

#include <tensor/visit.h>

namespace plumb {

namespace {

[[noreturn]] void throw_dtype(const char* function, DType dtype) {
    throw ArgumentError(std::string(function) + ": dtype " + std::string(name(dtype)) +
                        " given; allowed: float16, bfloat16, float32, float8_e4m3fn, float8_e5m2");
}

}  // namespace

float load_f32(DType dtype, const std::byte* element) {
    return detail::visit(dtype, [&]<class T>(detail::Tag<T>) -> float {
        if constexpr (detail::is_narrow_float<T> || std::is_same_v<T, float>)
            return static_cast<float>(detail::load<T>(element));
        else
            throw_dtype("load_f32", dtype);
    });
}

void store_f32(DType dtype, std::byte* element, float value) {
    detail::visit(dtype, [&]<class T>(detail::Tag<T>) {
        if constexpr (detail::is_narrow_float<T> || std::is_same_v<T, float>)
            detail::store(element, static_cast<T>(value));
        else
            throw_dtype("store_f32", dtype);
    });
}

}  // namespace plumb
