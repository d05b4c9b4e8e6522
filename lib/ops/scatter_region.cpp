#include <plumb/ops/scatter_region.h>

#include <memory>

#include "comm/launch.h"
#include "ops/region.h"

namespace plumb {

namespace {

ops::RegionCall forward(Rank0Only rank0_only, int dim) {
    return {"scatter_to_sequence_parallel_region", rank0_only, dim, {}};
}

ops::RegionCall backward(Rank0Only rank0_only, int dim, GradMode mode) {
    return {"scatter_to_sequence_parallel_region_backward", rank0_only, dim, mode};
}

}  // namespace

Async<Tensor> scatter_to_sequence_parallel_region_async(const Tensor& input, Rank0Only rank0_only, int dim,
                                                        GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<ops::SplitRegion>(forward(rank0_only, dim), input));
}
Async<Tensor> scatter_to_sequence_parallel_region_async(const Tensor& output, const Tensor& input,
                                                        Rank0Only rank0_only, int dim, GroupRef group) {
    return comm::launch<Tensor>(*group,
                                std::make_shared<ops::SplitRegion>(forward(rank0_only, dim), output, input));
}
Tensor scatter_to_sequence_parallel_region(const Tensor& input, Rank0Only rank0_only, int dim,
                                           GroupRef group) {
    return scatter_to_sequence_parallel_region_async(input, rank0_only, dim, group).wait();
}
Tensor scatter_to_sequence_parallel_region(const Tensor& output, const Tensor& input, Rank0Only rank0_only,
                                           int dim, GroupRef group) {
    return scatter_to_sequence_parallel_region_async(output, input, rank0_only, dim, group).wait();
}

Async<Tensor> scatter_to_sequence_parallel_region_backward_async(const Tensor& grad_output,
                                                                 Rank0Only rank0_only, int dim,
                                                                 GroupRef group, GradMode mode) {
    return comm::launch<Tensor>(
        *group, std::make_shared<ops::JoinRegion>(backward(rank0_only, dim, mode), grad_output));
}
Async<Tensor> scatter_to_sequence_parallel_region_backward_async(const Tensor& grad_input,
                                                                 const Tensor& grad_output,
                                                                 Rank0Only rank0_only, int dim,
                                                                 GroupRef group, GradMode mode) {
    return comm::launch<Tensor>(
        *group, std::make_shared<ops::JoinRegion>(backward(rank0_only, dim, mode), grad_input, grad_output));
}
Tensor scatter_to_sequence_parallel_region_backward(const Tensor& grad_output, Rank0Only rank0_only, int dim,
                                                    GroupRef group, GradMode mode) {
    return scatter_to_sequence_parallel_region_backward_async(grad_output, rank0_only, dim, group, mode)
        .wait();
}
Tensor scatter_to_sequence_parallel_region_backward(const Tensor& grad_input, const Tensor& grad_output,
                                                    Rank0Only rank0_only, int dim, GroupRef group,
                                                    GradMode mode) {
    return scatter_to_sequence_parallel_region_backward_async(grad_input, grad_output, rank0_only, dim, group,
                                                              mode)
        .wait();
}

}  // namespace plumb
