#pragma once

#include <memory>

#include <plumb/comm/async.h>
#include <plumb/context/group.h>

namespace plumb::comm {

/// Puts `operation` in flight on `group`, or, where this rank is not a member, does nothing. Every call of
/// Plumb moves on what is in flight already, so this one does.
template <class T, class Operation>
Async<T> launch(const Group& group, const std::shared_ptr<Operation>& operation) {
    if (!group.is_member()) {
        return {};
    }
    mpi::submit(group.channel(), operation);
    mpi::progress();
    return Async<T>(operation);
}

}  // namespace plumb::comm
