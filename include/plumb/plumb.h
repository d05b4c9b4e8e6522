#pragma once

/// All of Plumb but what needs a library of its own: <plumb/tensor/dlpack.h> (DLPack) and
/// <plumb/comm/object_json.h> (nlohmann-json).

#include <plumb/comm/all_gather.h>
#include <plumb/comm/all_reduce.h>
#include <plumb/comm/all_reduce_dict.h>
#include <plumb/comm/all_to_all_single.h>
#include <plumb/comm/async.h>
#include <plumb/comm/barrier.h>
#include <plumb/comm/broadcast.h>
#include <plumb/comm/gather.h>
#include <plumb/comm/object_list.h>
#include <plumb/comm/reduce.h>
#include <plumb/comm/reduce_op.h>
#include <plumb/comm/reduce_scatter.h>
#include <plumb/comm/root.h>
#include <plumb/comm/scatter.h>
#include <plumb/comm/send_recv.h>
#include <plumb/context/comm_context.h>
#include <plumb/context/group.h>
#include <plumb/context/mesh.h>
#include <plumb/context/parallel_mode.h>
#include <plumb/core/error.h>
#include <plumb/core/rank.h>
#include <plumb/core/version.h>
#include <plumb/mpi/environment.h>
#include <plumb/ops/all_to_all.h>
#include <plumb/ops/gather_region.h>
#include <plumb/ops/grad_mode.h>
#include <plumb/ops/halo_exchange.h>
#include <plumb/ops/halo_impl.h>
#include <plumb/ops/rank0_only.h>
#include <plumb/ops/scatter_region.h>
#include <plumb/tensor/dtype.h>
#include <plumb/tensor/shape.h>
#include <plumb/tensor/tensor.h>
