#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>

#include <plumb/mpi/counts.h>

#include "ops_regions/regions.h"
#include "tensor/formats.h"

using namespace plumb;
using namespace plumb::test;

namespace {

int source_of(Rank0Only rank0_only) {
    return rank0_only == Rank0Only::yes ? 0 : rank();
}

void check_scattered(const Tensor& output, const ChunkCase& each, const Layout& layout, DType dtype,
                     Rank0Only rank0_only) {
    check_elements(output, each.chunk, dtype, [&](const Index& index) {
        return shard_element(layout, dtype, source_of(rank0_only), each.in_whole(index, rank()));
    });
}

void check_scatter(const ChunkCase& each, const Layout& layout, DType dtype, Rank0Only rank0_only,
                   const Group& group) {
    CAPTURE(layout.name);
    CAPTURE(to_string(each.chunk));
    const Tensor input = shard(layout, dtype, rank());
    const Tensor output = scatter_to_sequence_parallel_region(input, rank0_only, each.dim, group);
    check_scattered(output, each, layout, dtype, rank0_only);
    CHECK(output.is_contiguous());
    CHECK_FALSE(output.shares_storage_with(input));
    check_untouched(input, layout, dtype);
    for (const Layout& place : distinct_layouts(each.chunk)) {
        const Tensor given = shard(place, dtype, rank() + 100);
        const Tensor same = scatter_to_sequence_parallel_region(given, input, rank0_only, each.dim, group);
        CHECK(same.bytes() == given.bytes());
        check_scattered(given, each, layout, dtype, rank0_only);
    }
}

/// grads / n, by the format's definition.
void check_narrow_division(const Format& format, const Group& group) {
    const auto codes = static_cast<std::int64_t>(format.codes());
    Tensor gradient = Tensor::empty({1, codes}, format.dtype);
    for (std::int64_t i = 0; i < codes; ++i) {
        // Every rank has all codes, each in another place.
        format.write(gradient.bytes() + i * static_cast<std::int64_t>(size_of(format.dtype)),
                     static_cast<std::uint32_t>((i + rank()) % codes));
    }
    const Tensor whole = scatter_to_sequence_parallel_region_backward(gradient, Rank0Only::yes, 1, group);
    REQUIRE(whole.shape() == Shape{1, codes * ranks()});
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < codes * ranks(); ++i) {
        const auto code = static_cast<std::uint32_t>((i % codes + i / codes) % codes);
        const auto* element = whole.bytes() + i * static_cast<std::int64_t>(size_of(format.dtype));
        wrong += format.same(format.read(element), format.nearest(format.decode(code) / ranks())) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("scatter region: chunk i of position 0's input, or of the own") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        for (const DType dtype : kAllDTypes) {
            const ChunkCase each{{2, 3, 2}, 1};
            check_scatter(each, row_major(each.whole()), dtype, rank0_only, group);
        }
        for (const ChunkCase& each : chunk_cases()) {
            check_scatter(each, row_major(each.whole()), DType::i16, rank0_only, group);
        }
        for (const ChunkCase& each : {ChunkCase{{2, 3, 2}, 1}, ChunkCase{{3, 2}, 0}}) {
            for (const Layout& layout : source_layouts(each.whole())) {
                check_scatter(each, layout, DType::f32, rank0_only, group);
            }
        }
    }
}

TEST_CASE("scatter region: in pieces where a message is too large") {
    const auto context = agreeing_context();
    const auto usual = mpi::count_limit();
    mpi::set_count_limit(5);
    for (const Rank0Only rank0_only : kBoth) {
        for (const ChunkCase& each : chunk_cases()) {
            check_scatter(each, row_major(each.whole()), DType::c64, rank0_only,
                          context.group(ParallelMode::global));
        }
    }
    mpi::set_count_limit(usual);
}

TEST_CASE("scatter region: with rank0_only the others' inputs are ignored, at every check level") {
    const ChunkCase each{{2, 3}, 1};
    const Layout layout = row_major(each.whole());
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const CommContext context(MPI_COMM_WORLD, flat_mesh(), level);
        const Group& group = context.group(ParallelMode::global);
        const Tensor whole = shard(layout, DType::f16, rank());
        for (const Tensor& ignored :
             {Tensor{}, Tensor::zeros({5}, DType::i64), Tensor::zeros({}, DType::boolean)}) {
            const Tensor input = rank() == 0 ? whole : ignored;
            check_scattered(scatter_to_sequence_parallel_region(input, Rank0Only::yes, 1, group), each,
                            layout, DType::f16, Rank0Only::yes);
        }
        // -1 means 1 here, which the others learn with the shape.
        check_scattered(scatter_to_sequence_parallel_region(rank() == 0 ? whole : Tensor{}, Rank0Only::yes,
                                                            rank() == 0 ? -1 : 1, group),
                        each, layout, DType::f16, Rank0Only::yes);
        if (ranks() > 1) {
            same_error_everywhere(
                [&] {
                    scatter_to_sequence_parallel_region(
                        rank() == 0 ? Tensor::zeros({2, ranks() + 1}, DType::f32) : Tensor{}, Rank0Only::yes,
                        1, group);
                },
                {"rank 0", "dim 1", "extent " + std::to_string(ranks() + 1),
                 "group size " + std::to_string(ranks())});
            same_error_everywhere(
                [&] {
                    scatter_to_sequence_parallel_region(rank() == 0 ? whole : Tensor{}, Rank0Only::yes,
                                                        rank() == 0 ? 1 : 0, group);
                },
                {"dim is"});
        }
        check_scattered(scatter_to_sequence_parallel_region(whole, Rank0Only::yes, 1, group), each, layout,
                        DType::f16, Rank0Only::yes);
    }
}

TEST_CASE("scatter region: a group of one passes any shape through, into fresh storage") {
    if (ranks() > 1) {
        return;
    }
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{2, 3}}) {
            const Layout layout = row_major(shape);
            const Tensor input = shard(layout, DType::f64, 0);
            const auto same = [&](const Index& index) { return shard_element(layout, DType::f64, 0, index); };
            const Tensor output = scatter_to_sequence_parallel_region(input, rank0_only, 7, group);
            check_elements(output, shape, DType::f64, same);
            CHECK_FALSE(output.shares_storage_with(input));
        }
        const Tensor scalar = Tensor::of<float>({}, {-3.5F});
        const Tensor gradient = scatter_to_sequence_parallel_region_backward(scalar, rank0_only, 1, group);
        CHECK(gradient.shape() == Shape{});
        CHECK(gradient.to_vector<float>() == std::vector<float>{-3.5F});
        CHECK_FALSE(gradient.shares_storage_with(scalar));
    }
}

TEST_CASE("scatter region backward: everybody's gradient divided by the size, joined") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const auto n = ranks();
    for (const Rank0Only rank0_only : kBoth) {
        for (const ChunkCase& each : chunk_cases()) {
            for (const bool transposed : {false, true}) {
                CAPTURE(to_string(each.chunk));
                std::vector<float> values;
                for (std::int64_t i = 0; i < element_count(each.chunk); ++i) {
                    values.push_back(real_value(rank(), i));
                }
                Tensor gradient = Tensor::of(each.chunk, values);
                if (transposed && each.chunk.ndim() > 1) {
                    gradient = gradient.transpose(0, -1).clone().transpose(0, -1);
                }
                const Strides strides = contiguous_strides(each.chunk);
                const auto expected = [&](const Index& index) {
                    const auto at = static_cast<std::size_t>(each.place());
                    const std::int64_t extent = each.chunk[each.place()];
                    std::int64_t place = 0;
                    for (std::size_t d = 0; d < index.size(); ++d) {
                        place += (d == at ? index[d] % extent : index[d]) * strides[static_cast<int>(d)];
                    }
                    const float value =
                        real_value(static_cast<int>(index[at] / extent), place) / static_cast<float>(n);
                    const auto bytes = std::as_bytes(std::span(&value, 1));
                    return Bytes(bytes.begin(), bytes.end());
                };
                const Tensor whole =
                    scatter_to_sequence_parallel_region_backward(gradient, rank0_only, each.dim, group);
                check_elements(whole, each.whole(), DType::f32, expected);
                CHECK(gradient.to_vector<float>() == values);
                for (const Layout& place : distinct_layouts(each.whole())) {
                    const Tensor given = shard(place, DType::f32, rank());
                    scatter_to_sequence_parallel_region_backward(given, gradient, rank0_only, each.dim,
                                                                 group);
                    check_elements(given, each.whole(), DType::f32, expected);
                }
            }
        }
    }
}

TEST_CASE("scatter region backward: true division, rounded once, in every floating and complex dtype") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Format& format : formats()) {
        CAPTURE(name(format.dtype));
        check_narrow_division(format, group);
    }
    const double n = ranks();
    const auto own = [](int r) { return std::vector<double>{0.1 + r, -7.3e-310 * (r + 1), 1e308 / (r + 1)}; };
    const Tensor wide = scatter_to_sequence_parallel_region_backward(Tensor::of({1, 3}, own(rank())),
                                                                     Rank0Only::yes, 1, group);
    const Tensor complex64 = scatter_to_sequence_parallel_region_backward(
        Tensor::of<std::complex<float>>({1, 1}, {{real_value(rank(), 0), real_value(rank(), 1)}}),
        Rank0Only::no, 1, group);
    const Tensor complex128 = scatter_to_sequence_parallel_region_backward(
        Tensor::of<std::complex<double>>({1, 1}, {{own(rank())[0], own(rank())[1]}}), Rank0Only::no, 1,
        group);
    for (int r = 0; r < ranks(); ++r) {
        const auto at = static_cast<std::size_t>(r);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(wide.to_vector<double>()[3 * at + i] == own(r)[i] / n);
        }
        const std::complex<float> c64(real_value(r, 0) / static_cast<float>(n),
                                      real_value(r, 1) / static_cast<float>(n));
        CHECK(complex64.to_vector<std::complex<float>>()[at] == c64);
        CHECK(complex128.to_vector<std::complex<double>>()[at] ==
              std::complex<double>(own(r)[0] / n, own(r)[1] / n));
    }
}

TEST_CASE("scatter region: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const ChunkCase each{{2, 2}, 1};
    const Layout layout = row_major(each.whole());
    const bool odd = rank() == ranks() - 1;  // who deviates
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const Tensor good = shard(layout, DType::f32, rank());
    const auto still_works = [&] {
        check_scattered(scatter_to_sequence_parallel_region(good, Rank0Only::no, 1, group), each, layout,
                        DType::f32, Rank0Only::no);
    };
    const auto scatter = [&](const Tensor& input, Rank0Only rank0_only, int dim) {
        return [&group, input, rank0_only, dim] {
            scatter_to_sequence_parallel_region(input, rank0_only, dim, group);
        };
    };
    same_error_everywhere(scatter(odd ? Tensor{} : good, Rank0Only::no, 1), {who, "input is an undefined"});
    still_works();
    same_error_everywhere(scatter({}, Rank0Only::yes, 1), {"rank 0", "input is an undefined"});
    still_works();
    const Tensor given = Tensor::zeros(odd ? Shape{3, 2} : Shape{2, 2}, DType::f32);
    for (const Rank0Only rank0_only : kBoth) {
        same_error_everywhere([&] { scatter_to_sequence_parallel_region(given, good, rank0_only, 1, group); },
                              {who, "output has shape [3, 2]"});
        const Tensor wrong = Tensor::zeros({2, 2}, odd ? DType::i32 : DType::f32);
        same_error_everywhere([&] { scatter_to_sequence_parallel_region(wrong, good, rank0_only, 1, group); },
                              {who, "output has dtype int32"});
        const Tensor expanded = Tensor::zeros({2, 1}, DType::f32).expand({2, 2});
        same_error_everywhere(
            [&] { scatter_to_sequence_parallel_region(expanded, good, rank0_only, 1, group); },
            {"output overlaps itself"});
        same_error_everywhere(
            [&] { scatter_to_sequence_parallel_region(good.narrow(1, 0, 2), good, rank0_only, 1, group); },
            {"output overlaps input"});
        check_untouched(good, layout, DType::f32);
        still_works();
    }
    if (ranks() == 1) {
        return;
    }
    same_error_everywhere(
        scatter(odd ? shard(row_major({2, 2 * ranks() - 1}), DType::f32, rank()) : good, Rank0Only::no, 1),
        {who, "dim 1", "extent " + std::to_string(2 * ranks() - 1)});
    still_works();
    const Tensor square = Tensor::zeros({ranks(), ranks()}, DType::f32);
    for (const Rank0Only rank0_only : kBoth) {
        same_error_everywhere(scatter(good, rank0_only, 2), {"dim", "2"});
        same_error_everywhere(scatter(good, rank0_only, -3), {"dim", "-3"});
        same_error_everywhere(scatter(square, rank0_only, odd ? 0 : 1), {"dim is", who});
        same_error_everywhere(scatter(Tensor::zeros({4}, DType::f32), rank0_only, 1), {"dim"});
        same_error_everywhere(scatter(Tensor::zeros({}, DType::f32), rank0_only, 0), {"dim"});
        still_works();
    }
    same_error_everywhere(scatter(good, odd ? Rank0Only::no : Rank0Only::yes, 1), {"rank0_only is", who});
    still_works();
    same_error_everywhere(scatter(odd ? Tensor::zeros(each.whole(), DType::i32) : good, Rank0Only::no, 1),
                          {"dtype", who});
    same_error_everywhere(scatter(odd ? Tensor::zeros({3, 2 * ranks()}, DType::f32) : good, Rank0Only::no, 1),
                          {"shape", who});
    still_works();
    same_error_everywhere(
        [&] {
            if (odd) {
                gather_from_sequence_parallel_region(good, Rank0Only::yes, 1, group);
            } else {
                scatter_to_sequence_parallel_region(good, Rank0Only::yes, 1, group);
            }
        },
        {"operation", "scatter_to_sequence_parallel_region", "gather_from_sequence_parallel_region"});
    still_works();
}

TEST_CASE("scatter region backward: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const bool odd = rank() == ranks() - 1;
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const Tensor good = Tensor::zeros({2, 2}, DType::f32);
    const auto backward = [&](const Tensor& gradient, Rank0Only rank0_only, int dim) {
        return [&group, gradient, rank0_only, dim] {
            scatter_to_sequence_parallel_region_backward(gradient, rank0_only, dim, group,
                                                         GradMode::replica_mean);
        };
    };
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
        same_error_everywhere(backward(odd ? Tensor::zeros({2, 2}, dtype) : good, Rank0Only::no, 1),
                              {who, "grad_output has dtype", name(dtype)});
    }
    same_error_everywhere(backward(odd ? Tensor{} : good, Rank0Only::yes, 1), {who, "grad_output is an und"});
    const Tensor given = Tensor::zeros({2, 2 * ranks() + (odd ? 1 : 0)}, DType::f32);
    same_error_everywhere(
        [&] { scatter_to_sequence_parallel_region_backward(given, good, Rank0Only::yes, 1, group); },
        {who, "grad_input has shape"});
    if (ranks() > 1) {
        same_error_everywhere(backward(good, Rank0Only::yes, 2), {"dim", "2"});
        same_error_everywhere(backward(good, Rank0Only::yes, odd ? 0 : 1), {"dim is", who});
        same_error_everywhere(backward(good, odd ? Rank0Only::no : Rank0Only::yes, 1), {"rank0_only", who});
        same_error_everywhere(backward(odd ? Tensor::zeros({2, 3}, DType::f32) : good, Rank0Only::yes, 1),
                              {"grad_output shape", who});
        same_error_everywhere(backward(odd ? Tensor::zeros({2, 2}, DType::f64) : good, Rank0Only::yes, 1),
                              {"grad_output dtype", who});
    }
    CHECK(scatter_to_sequence_parallel_region_backward(good, Rank0Only::yes, 1, group).shape() ==
          Shape{2, 2 * ranks()});
}
