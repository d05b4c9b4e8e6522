#include <complex>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/oracle/reference.h>

using namespace plumb;
using namespace plumb::oracle::reference;

namespace {

using Numbers = std::vector<std::int32_t>;

Tensor row(const Numbers& values) {
    return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}
Numbers numbers(const Tensor& tensor) {
    return tensor.to_vector<std::int32_t>();
}
std::vector<float> floats(const Tensor& tensor) {
    return tensor.to_vector<float>();
}

}  // namespace

TEST_CASE("moves, by hand") {
    const PerRank in = {row({1, 2}), row({3, 4})};
    CHECK(numbers(scatter(in)[1]) == Numbers{3, 4});
    CHECK(numbers(gather(in)[0]) == Numbers{1, 2});
    CHECK(numbers(broadcast(in, GroupRank(1))[0]) == Numbers{3, 4});
    CHECK_FALSE(broadcast(in, GroupRank(1))[1].shares_storage_with(in[1]));
    CHECK_THROWS_AS((void)broadcast(in, GroupRank(2)), ArgumentError);

    const PerRank concat = all_gather(in, Form::concat);
    CHECK(concat[0].shape() == Shape{4});
    CHECK(numbers(concat[1]) == Numbers{1, 2, 3, 4});
    const PerRank stack = all_gather(in, Form::stack);
    CHECK(stack[0].shape() == Shape{2, 2});
    CHECK(numbers(stack[1]) == Numbers{1, 2, 3, 4});
    const PerRank scalars = {Tensor::of<std::int32_t>({}, {7}), Tensor::of<std::int32_t>({}, {8})};
    CHECK(all_gather(scalars, Form::concat)[0].shape() == Shape{2});

    CHECK(numbers(all_to_all_single(in)[0]) == Numbers{1, 3});
    CHECK(numbers(all_to_all_single(in)[1]) == Numbers{2, 4});
    CHECK_THROWS_AS((void)all_to_all_single({row({1, 2, 3}), row({4, 5, 6})}), ArgumentError);
    const PerRank uneven = all_to_all_single({row({1, 2, 3}), row({4})}, {{1, 2}, {0, 1}}, {{1, 0}, {2, 1}});
    CHECK(numbers(uneven[0]) == Numbers{1});
    CHECK(numbers(uneven[1]) == Numbers{2, 3, 4});
    CHECK_THROWS_AS((void)all_to_all_single({row({1, 2, 3}), row({4})}, {{1, 2}, {0, 1}}, {{1, 0}, {1, 1}}),
                    ArgumentError);
    CHECK_THROWS_AS((void)scatter({row({1}), row({1, 2})}), ArgumentError);
    CHECK_THROWS_AS((void)scatter({row({1}), Tensor::zeros({1}, DType::f32)}), ArgumentError);
    CHECK_THROWS_AS((void)scatter({}), ArgumentError);
}

TEST_CASE("strides are respected") {
    const Tensor whole = Tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(numbers(scatter({whole.transpose(0, 1)})[0]) == Numbers{1, 4, 2, 5, 3, 6});
    CHECK(numbers(scatter({whole.stride_by(1, 2)})[0]) == Numbers{1, 3, 4, 6});
    CHECK(numbers(scatter({whole.narrow(0, 1, 1).expand({2, 3})})[0]) == Numbers{4, 5, 6, 4, 5, 6});
    // The transpose is [[1, 4], [2, 5], [3, 6]]; the ranks hold its rows 0-1 and 1-2.
    const PerRank views = {whole.transpose(0, 1).narrow(0, 0, 2), whole.transpose(0, 1).narrow(0, 1, 2)};
    CHECK(numbers(all_to_all(views, 1, 0)[0]) == Numbers{1, 4, 2, 5});
    CHECK(numbers(all_to_all(views, 1, 0)[1]) == Numbers{2, 5, 3, 6});
}

TEST_CASE("all_to_all, by hand") {
    // x_r[i][j] = 100 r + 10 i + j, shape [1, 4]; scatter columns, gather rows.
    const PerRank in = {Tensor::of<std::int32_t>({1, 4}, {0, 1, 2, 3}),
                        Tensor::of<std::int32_t>({1, 4}, {100, 101, 102, 103})};
    const PerRank out = all_to_all(in, 0, 1);
    CHECK(out[0].shape() == Shape{2, 2});
    CHECK(numbers(out[0]) == Numbers{0, 1, 100, 101});
    CHECK(numbers(out[1]) == Numbers{2, 3, 102, 103});
    const PerRank back = all_to_all_backward(out, 0, 1);
    CHECK(numbers(back[0]) == numbers(in[0]));
    CHECK(numbers(back[1]) == numbers(in[1]));
    CHECK_THROWS_AS((void)all_to_all(in, 0, 0), ArgumentError);
    CHECK_THROWS_AS((void)all_to_all(in, -1, 0), ArgumentError);
    CHECK_THROWS_AS((void)all_to_all(in, 1, 0), ArgumentError);  // one row among two ranks
}

TEST_CASE("sequence regions, by hand") {
    const PerRank in = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2, 2}, {5, 6, 7, 8})};
    const auto from_root = scatter_to_sequence_parallel_region({in[0], Tensor()}, Source::rank0);
    CHECK(floats(from_root[0]) == std::vector<float>{1, 3});
    CHECK(floats(from_root[1]) == std::vector<float>{2, 4});
    CHECK(from_root[1].shape() == Shape{2, 1});
    const auto own = scatter_to_sequence_parallel_region(in, Source::own);
    CHECK(floats(own[1]) == std::vector<float>{6, 8});
    CHECK(floats(scatter_to_sequence_parallel_region(in, Source::own, -2)[1]) == std::vector<float>{7, 8});
    CHECK(floats(scatter_to_sequence_parallel_region_backward(own)[1]) ==
          std::vector<float>{0.5F, 3, 1.5F, 4});

    const auto gathered = gather_from_sequence_parallel_region(in);
    CHECK(gathered[1].shape() == Shape{2, 4});
    CHECK(floats(gathered[1]) == std::vector<float>{1, 2, 5, 6, 3, 4, 7, 8});
    CHECK(floats(gather_from_sequence_parallel_region_backward(in, Source::own)[1]) ==
          std::vector<float>{12, 16});
    CHECK(floats(gather_from_sequence_parallel_region_backward(in, Source::rank0)[1]) ==
          std::vector<float>{4, 8});
    CHECK(floats(gather_from_sequence_parallel_region_backward(in, Source::own, 1, {2, 0})[0]) ==
          std::vector<float>{2, 4, 6, 8});
    CHECK_THROWS_AS((void)gather_from_sequence_parallel_region_backward({row({1}), row({2})}, Source::own, 0),
                    ArgumentError);
    CHECK_THROWS_AS((void)scatter_to_sequence_parallel_region({in[0], in[1].narrow(0, 0, 1)}, Source::own),
                    ArgumentError);
}

TEST_CASE("halo exchange, by hand") {
    const PerRank in = {Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({3}, {3, 4, 5}),
                        Tensor::of<float>({2}, {6, 7})};
    const PerRank out = cp_halo_exchange(in, 2, 1, -1);
    CHECK(floats(out[0]) == std::vector<float>{0, 0, 1, 2, 3});
    CHECK(floats(out[1]) == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(floats(out[2]) == std::vector<float>{4, 5, 6, 7, 0});

    // The adjoint by its meaning: each slice collects the gradients of all places it was copied to.
    const PerRank grads = {Tensor::of<float>({5}, {1, 2, 3, 4, 5}),
                           Tensor::of<float>({6}, {10, 20, 30, 40, 50, 60}),
                           Tensor::of<float>({5}, {100, 200, 300, 400, 500})};
    const PerRank back = cp_halo_exchange_backward(grads, 2, 1, 0);
    CHECK(floats(back[0]) == std::vector<float>{13, 24});
    CHECK(floats(back[1]) == std::vector<float>{35, 140, 250});
    CHECK(floats(back[2]) == std::vector<float>{360, 400});
    CHECK_THROWS_AS((void)cp_halo_exchange(in, 3, 0, 0), ArgumentError);
    // One gradient too narrow to hold both halos and a shard, at whichever end it stands; absurd widths.
    const Tensor narrow = Tensor::of<float>({2}, {1, 2});
    CHECK_THROWS_AS((void)cp_halo_exchange_backward({grads[0], grads[1], narrow}, 2, 1, 0), ArgumentError);
    CHECK_THROWS_AS((void)cp_halo_exchange_backward({narrow, grads[1], grads[2]}, 2, 1, 0), ArgumentError);
    CHECK_THROWS_AS((void)cp_halo_exchange_backward(grads, INT64_MAX, INT64_MAX, 0), ArgumentError);
    CHECK_THROWS_AS((void)cp_halo_exchange(in, INT64_MAX, INT64_MAX, 0), ArgumentError);
    CHECK_THROWS_AS((void)cp_halo_exchange(in, -1, 0, 0), ArgumentError);
    CHECK_THROWS_AS((void)cp_halo_exchange(in, 1, 1, 1), ArgumentError);
}

TEST_CASE("halo gradients are added in the recorded order, each sum rounded") {
    // T = 1, l = r = 1: own + next's left halo + previous's right halo. 1e8 + 1 rounds to 1e8 in f32.
    const auto middle = [](float own, float from_next, float from_previous) {
        const PerRank grads = {Tensor::of<float>({3}, {0, 0, from_previous}),
                               Tensor::of<float>({3}, {0, own, 0}),
                               Tensor::of<float>({3}, {from_next, 0, 0})};
        return floats(cp_halo_exchange_backward(grads, 1, 1, 0)[1])[0];
    };
    CHECK(middle(1e8F, 1.0F, -1e8F) == 0.0F);
    CHECK(middle(1e8F, -1e8F, 1.0F) == 1.0F);
}

TEST_CASE("16-bit and complex gradients are scaled in a wider type and rounded once") {
    // bf16 bits: 1.0 = 0x3f80; 1/3 in bf16 is 0x3eab.
    Tensor one = Tensor::zeros({1, 1}, DType::bf16);
    reinterpret_cast<std::uint16_t*>(one.bytes())[0] = 0x3f80;
    const auto third = scatter_to_sequence_parallel_region_backward({one, one, one});
    CHECK(reinterpret_cast<const std::uint16_t*>(third[0].bytes())[2] == 0x3eab);
    using Complex = std::complex<double>;
    const Tensor z = Tensor::of<Complex>({1, 1}, {Complex(3, -6)});
    const auto halves = scatter_to_sequence_parallel_region_backward({z, z});
    CHECK(halves[1].to_vector<Complex>()[1] == Complex(1.5, -3));
}
