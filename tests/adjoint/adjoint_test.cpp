// Every linear op has a transpose among the other ops: <f(x), y> = <x, g(y)>, both summed over all ranks.
// Judged in 64-bit integers, or whole numbers small enough for f64, so that equality is exact.

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdint>
#include <vector>

#include <plumb/plumb.h>

#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// Whole numbers between -50 and 50, different for every rank, seed and place.
std::int64_t number(int of_rank, int seed, std::int64_t place) {
    auto x = static_cast<std::uint64_t>(place) + 1000U * static_cast<std::uint64_t>(of_rank) +
             1000000U * static_cast<std::uint64_t>(seed);
    x = (x ^ (x >> 31U)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::int64_t>((x >> 33U) % 101U) - 50;
}

Tensor whole_numbers(const Shape& shape, int of_rank, int seed) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = number(of_rank, seed, static_cast<std::int64_t>(i));
    }
    return Tensor::of(shape, values);
}

Tensor own_numbers(const Shape& shape, int seed) {
    return whole_numbers(shape, rank(), seed);
}

std::int64_t dot(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    const auto left = a.to_vector<std::int64_t>();
    const auto right = b.to_vector<std::int64_t>();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        sum += left[i] * right[i];
    }
    return sum;
}

void check_equal_over_all_ranks(std::int64_t forward, std::int64_t backward) {
    std::int64_t sums[2] = {forward, backward};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == sums[1]);
    CHECK(sums[0] != 0);  // an identity of zeros would say nothing
}

}  // namespace

TEST_CASE("all_gather and reduce_scatter are each other's transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor x = own_numbers({2, 3}, 1);
    const Tensor y = own_numbers({2 * ranks(), 3}, 2);
    check_equal_over_all_ranks(dot(all_gather(x, group), y), dot(x, reduce_scatter(y, ReduceOp::sum, group)));
    check_equal_over_all_ranks(dot(reduce_scatter(y, ReduceOp::sum, group), x), dot(y, all_gather(x, group)));
    const Tensor stacked = own_numbers({ranks(), 2, 3}, 3);
    check_equal_over_all_ranks(dot(all_gather_stacked(x, group), stacked),
                               dot(x, reduce_scatter(stacked, ReduceOp::sum, group).reshape({2, 3})));
}

TEST_CASE("broadcast and reduce are each other's transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const GlobalRank root : {GlobalRank(0), GlobalRank(ranks() - 1)}) {
        const bool here = rank() == root.value;
        const Tensor x = own_numbers({3, 2}, 4);
        const Tensor y = own_numbers({3, 2}, 5);
        const Tensor sent = x.clone();
        broadcast(sent, root, group);
        const Tensor summed = y.clone();
        reduce(summed, root, ReduceOp::sum, group);
        // Only the root's x goes in, only the root's sum comes out.
        check_equal_over_all_ranks(dot(sent, y), here ? dot(x, summed) : 0);
    }
}

TEST_CASE("scatter and gather are each other's transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const GlobalRank root(ranks() - 1);
    const bool here = rank() == root.value;
    std::vector<Tensor> list;
    for (int k = 0; k < ranks() && here; ++k) {
        list.push_back(whole_numbers({4}, k, 6));
    }
    const Tensor out = Tensor::zeros({4}, DType::i64);
    scatter(out, here ? std::optional(list) : std::nullopt, root, group);
    const Tensor y = own_numbers({4}, 7);
    const std::vector<Tensor> gathered = gather(y, root, group);
    std::int64_t backward = 0;
    for (std::size_t k = 0; k < gathered.size(); ++k) {
        backward += dot(list[k], gathered[k]);
    }
    check_equal_over_all_ranks(dot(out, y), backward);
}

TEST_CASE("all_reduce of sums is its own transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor x = own_numbers({5}, 8);
    const Tensor y = own_numbers({5}, 9);
    check_equal_over_all_ranks(dot(all_reduce(x.clone(), ReduceOp::sum, group), y),
                               dot(x, all_reduce(y.clone(), ReduceOp::sum, group)));
}

TEST_CASE("all_to_all_single with its split sizes exchanged is its transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor even = own_numbers({2 * ranks(), 2}, 10);
    const Tensor back = own_numbers({2 * ranks(), 2}, 11);
    check_equal_over_all_ranks(dot(all_to_all_single(even, group), back),
                               dot(even, all_to_all_single(back, group)));

    // Rank i sends (i + j) % 3 rows to rank j, so that some blocks are empty.
    std::vector<std::int64_t> splits;
    std::int64_t rows = 0;
    for (int peer = 0; peer < ranks(); ++peer) {
        splits.push_back((rank() + peer + 1) % 3);
        rows += splits.back();
    }
    // Symmetric: what rank i sends to j is as long as what j sends to i.
    const Tensor x = own_numbers({rows, 2}, 12);
    const Tensor y = own_numbers({rows, 2}, 13);
    check_equal_over_all_ranks(dot(all_to_all_single(x, splits, splits, group), y),
                               dot(x, all_to_all_single(y, splits, splits, group)));
}

TEST_CASE("send and receive, exchanged, are each other's transpose") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int next = (rank() + 1) % ranks();
    const int previous = (rank() + ranks() - 1) % ranks();
    const auto shift = [&](const Tensor& tensor, int to, int from) {
        const Tensor arrived = Tensor::zeros(tensor.shape(), DType::i64);
        batch_send_recv({{P2PKind::send, tensor, GroupRank(to), Tag(0)},
                         {P2PKind::recv, arrived, GroupRank(from), Tag(0)}},
                        group);
        return arrived;
    };
    const Tensor x = own_numbers({6}, 14);
    const Tensor y = own_numbers({6}, 15);
    check_equal_over_all_ranks(dot(shift(x, next, previous), y), dot(x, shift(y, previous, next)));
}

TEST_CASE("region ops by replica_mean: the transpose on replicas") {
    // replica_mean is not the transpose of the map over all ranks' inputs. Where the tensor that every rank
    // holds whole is a replica, the same on all ranks, it is: n copies of a mean are the sum.
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t n = ranks();
    const auto as_f64 = [](const Tensor& integers, double scale) {
        std::vector<double> values;
        for (const auto value : integers.to_vector<std::int64_t>()) {
            values.push_back(scale * static_cast<double>(value));
        }
        return Tensor::of(integers.shape(), values);
    };
    const auto dot_f64 = [](const Tensor& a, const Tensor& b) {
        REQUIRE(a.shape() == b.shape());
        const auto left = a.to_vector<double>();
        const auto right = b.to_vector<double>();
        double sum = 0;
        for (std::size_t i = 0; i < left.size(); ++i) {
            sum += left[i] * right[i];
        }
        return static_cast<std::int64_t>(sum);
    };
    for (const Rank0Only rank0_only : {Rank0Only::yes, Rank0Only::no}) {
        const Tensor replica = as_f64(whole_numbers({2, 3 * n}, /*of_rank=*/0, 16), 1);
        // Multiples of n, so that the mean is a whole number.
        const Tensor part = as_f64(own_numbers({2, 3}, 17), static_cast<double>(n));
        check_equal_over_all_ranks(
            dot_f64(scatter_to_sequence_parallel_region(replica, rank0_only, 1, group), part),
            dot_f64(replica, scatter_to_sequence_parallel_region_backward(part, rank0_only, 1, group)));
        check_equal_over_all_ranks(
            dot_f64(gather_from_sequence_parallel_region(part, rank0_only, 1, group), replica),
            dot_f64(part, gather_from_sequence_parallel_region_backward(replica, rank0_only, 1, group)));
    }
}
