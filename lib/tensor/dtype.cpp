#include <plumb/tensor/dtype.h>

#include <string>

#include <plumb/core/error.h>

namespace plumb {

std::string_view name(DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return "bool";
        case DType::u8:
            return "uint8";
        case DType::i8:
            return "int8";
        case DType::i16:
            return "int16";
        case DType::i32:
            return "int32";
        case DType::i64:
            return "int64";
        case DType::f16:
            return "float16";
        case DType::bf16:
            return "bfloat16";
        case DType::f32:
            return "float32";
        case DType::f64:
            return "float64";
        case DType::c64:
            return "complex64";
        case DType::c128:
            return "complex128";
        case DType::f8_e4m3fn:
            return "float8_e4m3fn";
        case DType::f8_e5m2:
            return "float8_e5m2";
    }
    return "?";
}

std::string_view short_name(DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return "bool";
        case DType::u8:
            return "u8";
        case DType::i8:
            return "i8";
        case DType::i16:
            return "i16";
        case DType::i32:
            return "i32";
        case DType::i64:
            return "i64";
        case DType::f16:
            return "f16";
        case DType::bf16:
            return "bf16";
        case DType::f32:
            return "f32";
        case DType::f64:
            return "f64";
        case DType::c64:
            return "c64";
        case DType::c128:
            return "c128";
        case DType::f8_e4m3fn:
            return "f8_e4m3fn";
        case DType::f8_e5m2:
            return "f8_e5m2";
    }
    return "?";
}

DType dtype_from_name(std::string_view text) {
    for (const DType dtype : kAllDTypes)
        if (text == name(dtype) || text == short_name(dtype)) return dtype;
    std::string message = "dtype: unknown '" + std::string(text) + "'; allowed:";
    const char* separator = " ";
    for (const DType dtype : kAllDTypes) {
        message += separator + std::string(name(dtype));
        if (short_name(dtype) != name(dtype)) message += " (" + std::string(short_name(dtype)) + ")";
        separator = ", ";
    }
    throw ArgumentError(message);
}

}  // namespace plumb
