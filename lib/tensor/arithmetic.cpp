#include <string>

#include <plumb/tensor/block.h>
#include <tensor/loop.h>
#include <tensor/visit.h>

namespace plumb {

namespace {

using detail::for_each_outer;
using detail::load;
using detail::Loop;
using detail::store;

template <class T>
T sum(const T& a, const T& b) {
    if constexpr (std::is_integral_v<T>)
        return detail::wrapping_add(a, b);
    else if constexpr (detail::is_narrow_float<T>)
        return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
    else
        return a + b;
}

/// Elements of one component after the other: what a loop over dense memory may be split into.
template <class T>
struct ComponentOf {
    using type = T;
};
template <class T>
struct ComponentOf<std::complex<T>> {
    using type = T;
};

/// dst = f(dst, src) element by element. `f` works component by component, so that complex elements which lie
/// together are treated as twice as many real ones: these the compiler vectorises.
template <class T, class F>
void combine(const Loop& loop, const F& f) {
    using Component = typename ComponentOf<T>::type;
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    constexpr auto part = static_cast<std::int64_t>(sizeof(Component));
    if (loop.ndim == 0) {
        store(loop.dst, f(load<T>(loop.dst), load<T>(loop.src)));
        return;
    }
    const auto last = static_cast<std::size_t>(loop.ndim - 1);
    const std::int64_t extent = loop.extent[last];
    const std::int64_t dst_stride = loop.dst_stride[last];
    const std::int64_t src_stride = loop.src_stride[last];
    for_each_outer(loop, 1, [&](std::byte* dst, const std::byte* src) {
        if (dst_stride == size && src_stride == size) {
            for (std::int64_t i = 0; i < extent * size; i += part)
                store(dst + i, f(load<Component>(dst + i), load<Component>(src + i)));
        } else {
            for (std::int64_t i = 0; i < extent; ++i)
                store(dst + i * dst_stride, f(load<T>(dst + i * dst_stride), load<T>(src + i * src_stride)));
        }
    });
}

// Applied in f64 and rounded once.
template <class T, class F>
T apply_wide(const T& value, const F& f) {
    if constexpr (detail::is_complex_type<T>) {
        using Real = typename T::value_type;
        return T(apply_wide<Real>(value.real(), f), apply_wide<Real>(value.imag(), f));
    } else if constexpr (detail::is_narrow_float<T>) {
        return static_cast<T>(detail::to_float_odd(f(static_cast<double>(static_cast<float>(value)))));
    } else {
        return static_cast<T>(f(static_cast<double>(value)));
    }
}

template <class F>
void scale(const char* function, const View& dst, const F& f) {
    detail::require_host(function, dst.space);
    detail::visit(dst.dtype, [&]<class T>(detail::Tag<T>) {
        if constexpr (std::is_integral_v<T>) {
            throw ArgumentError(std::string(function) + ": dtype " + std::string(name(dst.dtype)) +
                                " given; allowed: floating point and complex");
        } else {
            if (dst.element_count() == 0) return;
            combine<T>(detail::plan(dst, dst), [&f](const auto& a, const auto&) { return apply_wide(a, f); });
        }
    });
}

}  // namespace

void add(const View& dst, const ConstView& src) {
    detail::require_alike("add", dst, src);
    detail::visit(dst.dtype, [&]<class T>(detail::Tag<T>) {
        if constexpr (std::is_same_v<T, bool>) {
            throw ArgumentError("add: dtype bool given; allowed: every other dtype");
        } else {
            if (dst.element_count() == 0) return;
            combine<T>(detail::plan(dst, src), [](const auto& a, const auto& b) { return sum(a, b); });
        }
    });
}

void multiply(const View& dst, double factor) {
    scale("multiply", dst, [factor](double value) { return value * factor; });
}

void divide(const View& dst, double divisor) {
    scale("divide", dst, [divisor](double value) { return value / divisor; });
}

}  // namespace plumb
