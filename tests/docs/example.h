#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <plumb/comm/object_json.h>
#include <plumb/oracle/case_set.h>
#include <plumb/oracle/safetensors.h>
#include <plumb/plumb.h>
#include <plumb/tensor/convert.h>

/// What the examples of the documentation find around them: the default context `sequence=2`, the `group` of
/// its sequence mode, and this rank's position in it, `rank`.
namespace plumb::test {

class Example {
  public:
    Example() { init_default_context("sequence=2"); }
    Example(const Example&) = delete;
    Example& operator=(const Example&) = delete;
    ~Example() { destroy_default_context(); }

    [[nodiscard]] const Group& group() const { return default_context().group(ParallelMode::sequence); }
};

// Values as the pages write them: numbers with %g, separated by blanks, strings in quotes.

inline std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}
inline std::string text_of(bool value) {
    return value ? "true" : "false";
}
inline std::string text_of(int value) {
    return std::to_string(value);
}
inline std::string text_of(std::size_t value) {
    return std::to_string(value);
}
inline std::string text_of(const std::string& text) {
    return '"' + text + '"';
}
inline std::string text_of(const nlohmann::json& value) {
    return value.dump();
}
inline std::string text_of(const Shape& shape) {
    return to_string(shape);
}
inline std::string text_of(Completion completion) {
    return completion == Completion::done ? "done" : "not_in_group";
}
inline std::string text_of(const Tensor& tensor);
inline std::string text_of(const Dict& values) {
    std::string text;
    for (const auto& [key, value] : values)
        text += (text.empty() ? "" : " ") + key + "=" + text_of(value);
    return text;
}

template <class T>
std::string text_of(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values)
        text += (text.empty() ? "" : " ") + text_of(value);
    return text;
}

template <class T>
std::string elements_of(const Tensor& tensor) {
    std::string text;
    for (const T value : tensor.to_vector<T>())
        text += (text.empty() ? "" : " ") + text_of(static_cast<double>(value));
    return text;
}

inline std::string text_of(const Tensor& tensor) {
    switch (tensor.dtype()) {
        case DType::i32:
            return elements_of<std::int32_t>(tensor);
        case DType::i64:
            return elements_of<std::int64_t>(tensor);
        case DType::u8:
            return elements_of<std::uint8_t>(tensor);
        case DType::f32:
            return elements_of<float>(tensor);
        case DType::f64:
            return elements_of<double>(tensor);
        default:
            break;
    }
    std::string text;
    const Tensor dense = tensor.contiguous();
    for (std::int64_t i = 0; i < dense.element_count(); ++i)
        text += (i == 0 ? "" : " ") +
                text_of(static_cast<double>(load_f32(
                    dense.dtype(), dense.bytes() + i * static_cast<std::int64_t>(size_of(dense.dtype())))));
    return text;
}

}  // namespace plumb::test
