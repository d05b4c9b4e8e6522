#pragma once

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>

namespace plumb {

/// Returns once every rank of the group has called it. Collective over the group. A rank outside the group
/// gets Completion::not_in_group at once. Throws AgreementError where other ranks call another operation.
Completion barrier(GroupRef group);
/// The handle is done once every rank of the group has called.
Async<Completion> barrier_async(GroupRef group);

}  // namespace plumb
