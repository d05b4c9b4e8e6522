#include <plumb/mpi/channel.h>

#include <algorithm>

#include <plumb/core/error.h>
#include <plumb/mpi/environment.h>

#include "mpi/engine.h"

namespace plumb::mpi {

Channel::Channel(Communicator data, Communicator agreement, std::string group, std::vector<GlobalRank> ranks,
                 CheckLevel level)
    : data_(std::move(data)),
      agreement_(std::move(agreement)),
      group_(std::move(group)),
      ranks_(std::move(ranks)),
      rank_(data_.rank()),
      level_(level) {}

Channel::~Channel() = default;

std::shared_ptr<void>& Channel::slot(const void* tag) {
    for (auto& [key, value] : slots_) {
        if (key == tag) {
            return value;
        }
    }
    return slots_.emplace_back(tag, nullptr).second;
}

Channel::Line& Channel::line_of(const Pending& pending) noexcept {
    return pending.kind() == Pending::Kind::collective ? collectives_ : messages_;
}

/// The nearest one that must post first has itself waited for those before it.
std::shared_ptr<Pending> Channel::predecessor_in(const Line& line, const Pending& pending) {
    const auto nearest = std::find_if(line.rbegin(), line.rend(),
                                      [&](const auto& earlier) { return pending.must_follow(*earlier); });
    return nearest == line.rend() || (*nearest)->posted() ? nullptr : *nearest;
}

/// Whatever `failed` has posted stays MPI's until it is complete, and so do its buffers.
void Channel::keep_requests_of(const std::shared_ptr<Pending>& failed) {
    if (auto requests = failed->take_requests(); !requests.empty()) {
        Engine::instance().keep(std::move(requests), failed);
    }
}

void Channel::put_in_flight(const std::shared_ptr<Pending>& pending) {
    if (pending->in_flight_) {
        throw ArgumentError("an operation that is in flight cannot be started again");
    }
    pending->channel_ = this;
    pending->finished_ = false;
    pending->posted_ = false;
    pending->failure_ = nullptr;
    Line& line = line_of(*pending);
    pending->predecessor_ = predecessor_in(line, *pending);
    line.push_back(pending);  // before anything is posted, which could not be undone
    try {
        pending->start();
    } catch (...) {
        keep_requests_of(pending);
        line.pop_back();
        pending->predecessor_ = nullptr;
        throw;
    }
    pending->in_flight_ = true;
    ++in_flight_;
}

void Channel::advance(Line& finished) {
    for (auto* line : {&collectives_, &messages_}) {
        advance(*line, finished);
    }
}

void Channel::advance(Line& line, Line& finished) {
    bool any_finished = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        Pending& pending = *line[i];
        if (pending.predecessor_ != nullptr && pending.predecessor_->posted()) {
            pending.predecessor_ = nullptr;
        }
        if (!pending.finished()) {
            try {
                pending.move_on(/*may_post=*/pending.predecessor_ == nullptr);
            } catch (...) {
                keep_requests_of(line[i]);
                pending.failure_ = std::current_exception();
                pending.mark_finished();
            }
        }
        any_finished = any_finished || pending.finished();
    }
    if (!any_finished) {
        return;
    }
    std::size_t kept = 0;
    for (auto& pending : line) {
        if (pending->finished()) {
            pending->in_flight_ = false;
            pending->predecessor_ = nullptr;
            finished.push_back(std::move(pending));
        } else {
            line[kept++].swap(pending);
        }
    }
    in_flight_ -= line.size() - kept;
    line.resize(kept);
}

}  // namespace plumb::mpi
