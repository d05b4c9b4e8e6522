#include <doctest/doctest.h>

#include <complex>

#include <plumb/mpi/counts.h>

#include "ops_regions/regions.h"
#include "tensor/formats.h"

using namespace plumb;
using namespace plumb::test;

namespace {

void check_gathered(const Tensor& output, const ChunkCase& each, const Layout& layout, DType dtype) {
    check_elements(output, each.whole(), dtype, [&](Index index) {
        std::int64_t& at = index[static_cast<std::size_t>(each.place())];
        const std::int64_t extent = each.chunk[each.place()];
        const int position = static_cast<int>(at / extent);
        at %= extent;
        return shard_element(layout, dtype, position, index);
    });
}

void check_gather(const ChunkCase& each, const Layout& layout, DType dtype, Rank0Only rank0_only,
                  const Group& group) {
    CAPTURE(layout.name);
    CAPTURE(to_string(each.chunk));
    const Tensor input = shard(layout, dtype, rank());
    const Tensor output = gather_from_sequence_parallel_region(input, rank0_only, each.dim, group);
    check_gathered(output, each, layout, dtype);
    CHECK(output.is_contiguous());
    CHECK_FALSE(output.shares_storage_with(input));
    check_untouched(input, layout, dtype);
    for (const Layout& place : distinct_layouts(each.whole())) {
        const Tensor given = shard(place, dtype, rank() + 100);
        const Tensor same = gather_from_sequence_parallel_region(given, input, rank0_only, each.dim, group);
        CHECK(same.bytes() == given.bytes());
        check_gathered(given, each, layout, dtype);
    }
}

Bytes bytes_of(float value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

/// A gradient of the whole shape that this rank alone has.
Tensor own_gradient(const Shape& shape) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
        values.push_back(real_value(rank(), i));
    }
    return Tensor::of(shape, values);
}

void check_gradient(const Tensor& gradient, const ChunkCase& each, int source) {
    const Strides strides = contiguous_strides(each.whole());
    check_elements(gradient, each.chunk, DType::f32, [&](const Index& index) {
        const Index from = each.in_whole(index, rank());
        std::int64_t place = 0;
        for (std::size_t d = 0; d < from.size(); ++d) {
            place += from[d] * strides[static_cast<int>(d)];
        }
        return bytes_of(real_value(source, place) * static_cast<float>(ranks()));
    });
}

/// All codes of the format times n, by its definition; rank r gets them shifted by r.
void check_narrow_product(const Format& format, Rank0Only rank0_only, const Group& group) {
    const auto codes = static_cast<std::int64_t>(format.codes());
    const auto size = static_cast<std::int64_t>(size_of(format.dtype));
    Tensor gradient = Tensor::empty({1, codes * ranks()}, format.dtype);
    for (std::int64_t i = 0; i < codes * ranks(); ++i) {
        format.write(gradient.bytes() + i * size, static_cast<std::uint32_t>((i + i / codes) % codes));
    }
    const Tensor chunk = gather_from_sequence_parallel_region_backward(gradient, rank0_only, 1, group);
    REQUIRE(chunk.shape() == Shape{1, codes});
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < codes; ++i) {
        const double value = format.decode(static_cast<std::uint32_t>((i + rank()) % codes)) * ranks();
        wrong += format.same(format.read(chunk.bytes() + i * size), format.nearest(value)) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gather region: all inputs joined along dim, whatever rank0_only says") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        for (const DType dtype : kAllDTypes) {
            const ChunkCase each{{2, 3, 2}, 1};
            check_gather(each, row_major(each.chunk), dtype, rank0_only, group);
        }
        for (const ChunkCase& each : chunk_cases()) {
            check_gather(each, row_major(each.chunk), DType::i16, rank0_only, group);
        }
        for (const ChunkCase& each : {ChunkCase{{2, 3, 2}, 1}, ChunkCase{{3, 2}, 0}}) {
            for (const Layout& layout : source_layouts(each.chunk)) {
                check_gather(each, layout, DType::f32, rank0_only, group);
            }
        }
    }
}

TEST_CASE("gather region: in pieces where a message is too large") {
    const auto context = agreeing_context();
    const auto usual = mpi::count_limit();
    mpi::set_count_limit(5);
    for (const ChunkCase& each : chunk_cases()) {
        check_gather(each, row_major(each.chunk), DType::c64, Rank0Only::yes,
                     context.group(ParallelMode::global));
    }
    mpi::set_count_limit(usual);
}

TEST_CASE("gather region: a group of one passes any shape through, into fresh storage") {
    if (ranks() > 1) {
        return;
    }
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{2, 3}}) {
            const Layout layout = row_major(shape);
            const Tensor input = shard(layout, DType::f64, 0);
            const Tensor output = gather_from_sequence_parallel_region(input, rank0_only, 7, group);
            check_elements(output, shape, DType::f64,
                           [&](const Index& index) { return shard_element(layout, DType::f64, 0, index); });
            CHECK_FALSE(output.shares_storage_with(input));
        }
        const Tensor scalar = Tensor::of<float>({}, {-3.5F});
        const Tensor gradient = gather_from_sequence_parallel_region_backward(scalar, rank0_only, 1, group);
        CHECK(gradient.shape() == Shape{});
        CHECK(gradient.to_vector<float>() == std::vector<float>{-3.5F});
        CHECK_FALSE(gradient.shares_storage_with(scalar));
    }
}

TEST_CASE("gather region backward: the chunk of position 0's gradient, or of the own, times the size") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        const int source = rank0_only == Rank0Only::yes ? 0 : rank();
        for (const ChunkCase& each : chunk_cases()) {
            CAPTURE(to_string(each.chunk));
            const Tensor dense = own_gradient(each.whole());
            const int last = each.chunk.ndim() - 1;
            const Tensor turned = dense.transpose(0, last).clone().transpose(0, last);
            for (const Tensor& gradient : {dense, turned}) {
                check_gradient(
                    gather_from_sequence_parallel_region_backward(gradient, rank0_only, each.dim, group),
                    each, source);
                CHECK(gradient.to_vector<float>() == own_gradient(each.whole()).to_vector<float>());
                for (const Layout& place : distinct_layouts(each.chunk)) {
                    const Tensor given = shard(place, DType::f32, rank());
                    gather_from_sequence_parallel_region_backward(given, gradient, rank0_only, each.dim,
                                                                  group);
                    check_gradient(given, each, source);
                }
            }
        }
    }
}

TEST_CASE("gather region backward: with rank0_only the others' gradients may be absent") {
    const ChunkCase each{{2, 3}, 1};
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const CommContext context(MPI_COMM_WORLD, flat_mesh(), level);
        const Group& group = context.group(ParallelMode::global);
        for (const Tensor& ignored : {Tensor{}, Tensor::zeros({5}, DType::i64)}) {
            const Tensor gradient = rank() == 0 ? own_gradient(each.whole()) : ignored;
            check_gradient(gather_from_sequence_parallel_region_backward(gradient, Rank0Only::yes, 1, group),
                           each, 0);
        }
    }
}

TEST_CASE("gather region backward: rounded once, in every floating and complex dtype") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Rank0Only rank0_only : kBoth) {
        for (const Format& format : formats()) {
            CAPTURE(name(format.dtype));
            check_narrow_product(format, rank0_only, group);
        }
        const auto n = static_cast<double>(ranks());
        std::vector<double> wide;
        std::vector<std::complex<float>> narrow_complex;
        std::vector<std::complex<double>> wide_complex;
        for (int r = 0; r < ranks(); ++r) {
            wide.push_back(0.1 * (r + 1));
            narrow_complex.emplace_back(real_value(r, 0), real_value(r, 1));
            wide_complex.emplace_back(0.1 * (r + 1), -0.7 / (r + 1));
        }
        const Shape shape{1, ranks()};
        const auto chunk = [&](const Tensor& gradient) {
            return gather_from_sequence_parallel_region_backward(gradient, rank0_only, 1, group);
        };
        const auto at = static_cast<std::size_t>(rank());
        const auto size = static_cast<float>(ranks());
        CHECK(chunk(Tensor::of(shape, wide)).to_vector<double>()[0] == wide[at] * n);
        CHECK(chunk(Tensor::of(shape, narrow_complex)).to_vector<std::complex<float>>()[0] ==
              std::complex<float>(narrow_complex[at].real() * size, narrow_complex[at].imag() * size));
        CHECK(chunk(Tensor::of(shape, wide_complex)).to_vector<std::complex<double>>()[0] ==
              std::complex<double>(wide_complex[at].real() * n, wide_complex[at].imag() * n));
    }
}

TEST_CASE("gather region: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const ChunkCase each{{2, 2}, 1};
    const Layout layout = row_major(each.chunk);
    const bool odd = rank() == ranks() - 1;  // who deviates
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const Tensor good = shard(layout, DType::f32, rank());
    const auto still_works = [&] {
        check_gathered(gather_from_sequence_parallel_region(good, Rank0Only::yes, 1, group), each, layout,
                       DType::f32);
    };
    const auto gather = [&](const Tensor& input, Rank0Only rank0_only, int dim) {
        return [&group, input, rank0_only, dim] {
            gather_from_sequence_parallel_region(input, rank0_only, dim, group);
        };
    };
    for (const Rank0Only rank0_only : kBoth) {
        same_error_everywhere(gather(odd ? Tensor{} : good, rank0_only, 1), {who, "input is an undefined"});
        still_works();
    }
    const Tensor given = Tensor::zeros({2, 2 * ranks() + (odd ? 1 : 0)}, DType::f32);
    same_error_everywhere(
        [&] { gather_from_sequence_parallel_region(given, good, Rank0Only::yes, 1, group); },
        {who, "output has shape"});
    const Tensor expanded = Tensor::zeros({1, 2 * ranks()}, DType::f32).expand({2, 2 * ranks()});
    same_error_everywhere(
        [&] { gather_from_sequence_parallel_region(expanded, good, Rank0Only::yes, 1, group); },
        {"output overlaps itself"});
    const Tensor around = Tensor::zeros({2, 2 * ranks()}, DType::f32);
    same_error_everywhere(
        [&] {
            gather_from_sequence_parallel_region(around, around.narrow(1, 0, 2), Rank0Only::yes, 1, group);
        },
        {"output overlaps input"});
    still_works();
    if (ranks() == 1) {
        return;
    }
    for (const Rank0Only rank0_only : kBoth) {
        same_error_everywhere(gather(good, rank0_only, 2), {"dim", "2"});
        same_error_everywhere(gather(good, rank0_only, -3), {"dim", "-3"});
        same_error_everywhere(gather(Tensor::zeros({4}, DType::f32), rank0_only, 1), {"dim"});
        same_error_everywhere(gather(good, rank0_only, odd ? 0 : 1), {"dim is", who});
        same_error_everywhere(gather(odd ? Tensor::zeros({2, 2}, DType::i32) : good, rank0_only, 1),
                              {"input dtype", who});
        same_error_everywhere(gather(odd ? Tensor::zeros({2, 3}, DType::f32) : good, rank0_only, 1),
                              {"input shape", who});
        still_works();
    }
    // The same dimension, spelt in two ways.
    check_gathered(gather_from_sequence_parallel_region(good, Rank0Only::no, odd ? -1 : 1, group), each,
                   layout, DType::f32);
    same_error_everywhere(gather(good, odd ? Rank0Only::no : Rank0Only::yes, 1), {"rank0_only is", who});
    still_works();
}

TEST_CASE("gather region backward: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const bool odd = rank() == ranks() - 1;
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const Tensor good = Tensor::zeros({2, 2 * ranks()}, DType::f32);
    const auto backward = [&](const Tensor& gradient, Rank0Only rank0_only, int dim) {
        return [&group, gradient, rank0_only, dim] {
            gather_from_sequence_parallel_region_backward(gradient, rank0_only, dim, group,
                                                          GradMode::replica_mean);
        };
    };
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
        const Tensor counts = Tensor::zeros(good.shape(), dtype);
        same_error_everywhere(backward(odd ? counts : good, Rank0Only::no, 1),
                              {who, "grad_output has dtype", name(dtype)});
        same_error_everywhere(backward(rank() == 0 ? counts : good, Rank0Only::yes, 1),
                              {"rank 0", "grad_output has dtype", name(dtype)});
    }
    same_error_everywhere(backward({}, Rank0Only::yes, 1), {"rank 0", "grad_output is an undefined"});
    for (const Rank0Only rank0_only : kBoth) {
        const Tensor given = Tensor::zeros({2, odd ? 3 : 2}, DType::f32);
        same_error_everywhere(
            [&] { gather_from_sequence_parallel_region_backward(given, good, rank0_only, 1, group); },
            {who, "grad_input has shape"});
        if (ranks() > 1) {
            same_error_everywhere(
                backward(Tensor::zeros({2, 2 * ranks() - 1}, DType::f32), rank0_only, 1),
                {"grad_output has extent " + std::to_string(2 * ranks() - 1), "dim 1", "group size"});
            same_error_everywhere(backward(good, rank0_only, 2), {"dim", "2"});
            const Tensor square = Tensor::zeros({ranks(), ranks()}, DType::f32);
            same_error_everywhere(backward(square, rank0_only, odd ? 0 : 1), {"dim is", who});
        }
    }
    if (ranks() > 1) {
        same_error_everywhere(backward(good, odd ? Rank0Only::no : Rank0Only::yes, 1), {"rank0_only", who});
        same_error_everywhere(
            backward(odd ? Tensor::zeros({4, 2 * ranks()}, DType::f32) : good, Rank0Only::no, 1),
            {"grad_output shape", who});
        same_error_everywhere(
            backward(odd ? Tensor::zeros(good.shape(), DType::f64) : good, Rank0Only::no, 1),
            {"grad_output dtype", who});
    }
    CHECK(gather_from_sequence_parallel_region_backward(good, Rank0Only::yes, 1, group).shape() ==
          Shape{2, 2});
}
