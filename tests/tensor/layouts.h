#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <plumb/tensor/view.h>

/// Ways to lay an array out in memory, made by hand from nothing but extents, so that tests can address every
/// element on their own.
struct Layout {
    std::string name;
    plumb::Shape shape;
    plumb::Strides strides;
    std::int64_t offset = 0;    ///< of element (0, …, 0) from the start of the buffer, in elements
    std::int64_t elements = 0;  ///< in the buffer
};

/// Positions of all elements in the buffer, row-major, in elements.
inline std::vector<std::int64_t> positions(const Layout& layout) {
    std::vector<std::int64_t> result{layout.offset};
    for (int dim = 0; dim < layout.shape.ndim(); ++dim) {
        std::vector<std::int64_t> longer;
        for (const std::int64_t position : result)
            for (std::int64_t i = 0; i < layout.shape[dim]; ++i)
                longer.push_back(position + i * layout.strides[dim]);
        result = std::move(longer);
    }
    return result;
}

/// Dimensions from the slowest to the fastest in `order`, each taking `pad` more places than it has elements
/// and `step` places per element; dims of bit mask `negative` run backwards, those of `zero` do not move at
/// all.
inline Layout make_layout(std::string name, const plumb::Shape& shape, const std::vector<int>& order,
                          std::int64_t pad, std::int64_t step, unsigned negative, unsigned zero) {
    Layout layout{std::move(name), shape, plumb::Strides::filled(shape.ndim(), 0), pad, 1};
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        if ((zero >> *dim & 1U) != 0) continue;
        layout.strides[*dim] = layout.elements * step;
        if ((negative >> *dim & 1U) != 0 && shape[*dim] > 0) {
            layout.strides[*dim] = -layout.strides[*dim];
            layout.offset -= layout.strides[*dim] * (shape[*dim] - 1);
        }
        layout.elements *= shape[*dim] * step + pad;
    }
    layout.elements += 2 * pad;
    return layout;
}

/// Layouts whose elements all lie in different places.
inline std::vector<Layout> distinct_layouts(const plumb::Shape& shape) {
    std::vector<int> forward;
    for (int dim = 0; dim < shape.ndim(); ++dim)
        forward.push_back(dim);
    const std::vector<int> backward(forward.rbegin(), forward.rend());
    std::vector<int> rotated = forward;
    if (!rotated.empty()) {
        rotated.push_back(rotated.front());
        rotated.erase(rotated.begin());
    }
    return {make_layout("row-major", shape, forward, 0, 1, 0, 0),
            make_layout("column-major", shape, backward, 0, 1, 0, 0),
            make_layout("rotated", shape, rotated, 0, 1, 0, 0),
            make_layout("sliced", shape, forward, 1, 1, 0, 0),
            make_layout("sliced column-major", shape, backward, 2, 1, 0, 0),
            make_layout("every third", shape, forward, 0, 3, 0, 0),
            make_layout("backwards", shape, forward, 0, 1, 0xFF, 0),
            make_layout("partly backwards", shape, rotated, 1, 1, 0x55, 0)};
}

/// Layouts that only a source may have, besides the distinct ones.
inline std::vector<Layout> source_layouts(const plumb::Shape& shape) {
    std::vector<Layout> layouts = distinct_layouts(shape);
    std::vector<int> forward;
    for (int dim = 0; dim < shape.ndim(); ++dim)
        forward.push_back(dim);
    layouts.push_back(make_layout("one value", shape, forward, 1, 1, 0, 0xFF));
    layouts.push_back(make_layout("even dims expanded", shape, forward, 1, 1, 0, 0x55));
    layouts.push_back(make_layout("odd dims expanded, rest backwards", shape, forward, 0, 2, 0x55, 0xAA));
    Layout windows{"sliding windows", shape, plumb::Strides::filled(shape.ndim(), 1), 0, 1};
    for (const std::int64_t extent : shape)
        windows.elements += extent;
    layouts.push_back(windows);
    return layouts;
}

/// A buffer of `layout.elements` elements, byte i holding f(i).
inline std::vector<std::byte> patterned(const Layout& layout, plumb::DType dtype) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(layout.elements) * plumb::size_of(dtype));
    for (std::size_t i = 0; i < buffer.size(); ++i)
        buffer[i] = static_cast<std::byte>((i * 2654435761U) >> 13 & 0xFFU);
    return buffer;
}

template <class Byte>
plumb::BasicView<Byte> view_of(const Layout& layout, plumb::DType dtype, Byte* buffer) {
    // A buffer without elements may have no address to count from.
    Byte* const first = buffer == nullptr
                            ? nullptr
                            : buffer + layout.offset * static_cast<std::int64_t>(plumb::size_of(dtype));
    return {first, dtype, layout.shape, layout.strides, plumb::MemorySpace::host};
}
