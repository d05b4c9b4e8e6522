#include <doctest/doctest.h>

#include <mpi.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>

#include <plumb/mpi/counts.h>

#include "ops_halo/halos.h"
#include "tensor/formats.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// Rank r's upstream gradient, row-major; `value(r, place)` its elements.
template <class T, class Value>
std::vector<T> gradient_of(const HaloCase& each, int r, Value&& value) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < element_count(each.extended_shape(r)); ++i) {
        values.push_back(value(r, i));
    }
    return values;
}

/// The element at `index` of an array of `shape`.
template <class T>
T element(const std::vector<T>& values, const Shape& shape, Index index, int dim, std::int64_t at) {
    index[static_cast<std::size_t>(dim)] = at;
    const Strides strides = contiguous_strides(shape);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
        place += index[d] * strides[static_cast<int>(d)];
    }
    return values[static_cast<std::size_t>(place)];
}

enum class Order { as_documented, previous_first };

/// What the op's text says, element by element: own, then what the next rank had in its left halo, then what
/// the previous one had in its right halo.
template <class T, class Value, class Sum>
std::vector<T> expected_gradient(const HaloCase& each, Value&& value, Sum&& sum,
                                 Order order = Order::as_documented) {
    const int me = rank();
    const std::int64_t extent = each.extent(me);
    std::map<int, std::vector<T>> upstreams;
    for (const int r : {me - 1, me, me + 1}) {
        if (exists(r)) {
            upstreams[r] = gradient_of<T>(each, r, value);
        }
    }
    const auto upstream = [&](int r, const Index& index, std::int64_t at) {
        return exists(r) ? element(upstreams[r], each.extended_shape(r), index, each.place(), at) : T{};
    };
    std::vector<T> result;
    for (const auto& index : all_indices(each.shard_shape(me))) {
        const std::int64_t at = index[static_cast<std::size_t>(each.place())];
        T total = upstream(me, index, each.left + at);
        const auto from_next = [&] {
            if (at >= extent - each.left) {
                total = sum(total, upstream(me + 1, index, at - (extent - each.left)));
            }
        };
        const auto from_previous = [&] {
            if (at < each.right) {
                const std::int64_t start = exists(me - 1) ? each.left + each.extent(me - 1) : 0;
                total = sum(total, upstream(me - 1, index, start + at));
            }
        };
        if (order == Order::previous_first) {
            from_previous();
            from_next();
        } else {
            from_next();
            from_previous();
        }
        result.push_back(total);
    }
    return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T, class Value, class Sum>
void check_backward(const HaloCase& each, HaloImpl impl, const Group& group, Value&& value, Sum&& sum) {
    const std::string what = each.name();
    CAPTURE(what);
    const auto upstream = gradient_of<T>(each, rank(), value);
    const auto expected = expected_gradient<T>(each, value, sum);
    const Tensor dense = Tensor::of(each.extended_shape(rank()), upstream);
    const Tensor turned = dense.transpose(0, -1).clone().transpose(0, -1);
    for (const Tensor& gradient : {dense, turned}) {
        const Tensor result =
            cp_halo_exchange_backward(gradient, each.left, each.right, each.dim, group, impl);
        REQUIRE(result.shape() == each.shard_shape(rank()));
        CHECK(same_bits(result.to_vector<T>(), expected));
        CHECK(result.is_contiguous());
        CHECK_FALSE(result.shares_storage_with(gradient));
        CHECK(same_bits(gradient.to_vector<T>(), upstream));
        for (const Layout& place : distinct_layouts(each.shard_shape(rank()))) {
            const Tensor given = shard(place, dtype_of<T>(), rank());
            const Tensor same =
                cp_halo_exchange_backward(given, gradient, each.left, each.right, each.dim, group, impl);
            CHECK(same.bytes() == given.bytes());
            CHECK(same_bits(given.to_vector<T>(), expected));
        }
    }
}

const auto kSum = [](auto a, auto b) { return a + b; };

void check_all(const Group& group) {
    for (const HaloImpl impl : kImpls) {
        CAPTURE(name(impl));
        for (const HaloCase& each : halo_cases()) {
            check_backward<float>(each, impl, group, real_value, kSum);
        }
    }
}

template <class T>
T wrapping_sum(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class T>
void check_integers(const HaloCase& each, HaloImpl impl, const Group& group) {
    const auto value = [](int r, std::int64_t place) {
        return static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(3 * place + r));
    };
    check_backward<T>(each, impl, group, value, wrapping_sum<T>);
}

}  // namespace

TEST_CASE("halo exchange backward: own, then next, then previous, each addition rounded") {
    const auto context = agreeing_context();
    check_all(context.group(ParallelMode::global));
}

TEST_CASE("halo exchange backward: in pieces where a message is too large") {
    const auto context = agreeing_context();
    const auto usual = mpi::count_limit();
    mpi::set_count_limit(5);
    check_all(context.group(ParallelMode::global));
    mpi::set_count_limit(usual);
}

TEST_CASE("halo exchange backward: the test's values tell the orders of addition apart") {
    const HaloCase overlapping{{3, 2}, 0, 3, 3};
    const bool inner = exists(rank() - 1) && exists(rank() + 1);
    CHECK(inner != same_bits(expected_gradient<float>(overlapping, real_value, kSum),
                             expected_gradient<float>(overlapping, real_value, kSum, Order::previous_first)));
}

TEST_CASE("halo exchange backward: the end ranks add zeros, so that -0.0 becomes +0.0") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const auto signs = [](const Tensor& tensor) {
        std::vector<bool> result;
        for (const float value : tensor.to_vector<float>()) {
            CHECK(value == 0.0F);
            result.push_back(std::signbit(value));
        }
        return result;
    };
    const bool first = rank() == 0;
    const bool last = rank() == ranks() - 1;
    for (const HaloImpl impl : kImpls) {
        const Tensor five = Tensor::of<float>({5}, std::vector<float>(5, -0.0F));
        CHECK(signs(cp_halo_exchange_backward(five, 1, 1, 0, group, impl)) ==
              std::vector<bool>{!first, true, !last});
        CHECK(signs(cp_halo_exchange_backward(five, 0, 2, 0, group, impl)) ==
              std::vector<bool>{!first, !first, true});
        CHECK(signs(cp_halo_exchange_backward(five, 2, 0, 0, group, impl)) ==
              std::vector<bool>{true, !last, !last});
        CHECK(signs(cp_halo_exchange_backward(five, 0, 0, 0, group, impl)) == std::vector<bool>(5, true));
    }
}

TEST_CASE("halo exchange backward: every dtype that can be added") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const HaloCase each{{2, 3, 2}, 1, 3, 2, true};
    for (const HaloImpl impl : kImpls) {
        check_integers<std::uint8_t>(each, impl, group);
        check_integers<std::int8_t>(each, impl, group);
        check_integers<std::int16_t>(each, impl, group);
        check_integers<std::int32_t>(each, impl, group);
        check_integers<std::int64_t>(each, impl, group);
        const auto wide = [](int r, std::int64_t place) {
            return std::sin(static_cast<double>(place + 9 * r));
        };
        check_backward<double>(each, impl, group, wide, kSum);
        check_backward<std::complex<double>>(
            each, impl, group,
            [&](int r, std::int64_t place) { return std::complex<double>(wide(r, place), wide(r, -place)); },
            kSum);
        check_backward<std::complex<float>>(
            each, impl, group,
            [](int r, std::int64_t place) {
                return std::complex<float>(real_value(r, place), real_value(r, place + 50));
            },
            kSum);
    }
}

TEST_CASE("halo exchange backward: narrow floats are rounded after each addition") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const HaloCase each{{3}, 0, 3, 3};
    for (const HaloImpl impl : kImpls) {
        for (const Format& format : formats()) {
            CAPTURE(name(format.dtype));
            const auto code = [&](int r, std::int64_t place) {
                return format.nearest(0.25 * real_value(r, place));
            };
            const auto sum = [&](std::uint32_t a, std::uint32_t b) {
                return format.nearest(format.decode(a) + format.decode(b));
            };
            const auto size = static_cast<std::int64_t>(size_of(format.dtype));
            Tensor gradient = Tensor::empty(each.extended_shape(rank()), format.dtype);
            const auto codes = gradient_of<std::uint32_t>(each, rank(), code);
            for (std::size_t i = 0; i < codes.size(); ++i) {
                format.write(gradient.bytes() + static_cast<std::int64_t>(i) * size, codes[i]);
            }
            const Tensor result = cp_halo_exchange_backward(gradient, 3, 3, 0, group, impl);
            const auto expected = expected_gradient<std::uint32_t>(each, code, sum);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                CHECK(format.read(result.bytes() + static_cast<std::int64_t>(i) * size) == expected[i]);
            }
        }
    }
}

TEST_CASE("halo exchange backward is the adjoint: <f(x), y> = <x, f'(y)> over all ranks") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const auto integers = [](std::int64_t count, std::int64_t salt) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < count; ++i) {
            values.push_back(static_cast<double>((i * 37 + rank() * 101 + salt) % 19 - 9));
        }
        return values;
    };
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        REQUIRE(a.size() == b.size());
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            sum += a[i] * b[i];
        }
        double total = 0;
        MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return total;
    };
    for (const HaloImpl impl : kImpls) {
        for (const HaloCase& each : halo_cases()) {
            const std::string what = each.name();
            CAPTURE(what);
            const auto x = integers(element_count(each.shard_shape(rank())), 3);
            const auto y = integers(element_count(each.extended_shape(rank())), 8);
            const auto extended = cp_halo_exchange(Tensor::of(each.shard_shape(rank()), x), each.left,
                                                   each.right, each.dim, group, impl);
            const auto gradient = cp_halo_exchange_backward(Tensor::of(each.extended_shape(rank()), y),
                                                            each.left, each.right, each.dim, group, impl);
            CHECK(dot(extended.to_vector<double>(), y) == dot(x, gradient.to_vector<double>()));
        }
    }
}
