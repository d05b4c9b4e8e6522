#include <plumb/mpi/operation.h>

#include <plumb/core/error.h>

namespace plumb::mpi {

std::string_view Operation::waits_for() const {
    switch (state_) {
        case State::agreeing:
            return "all ranks of the group to make the call";
        case State::ready:
            return "earlier operations of the group";
        case State::confirming:
            return "all ranks of the group to be ready";
        case State::gathering_sizes:
        case State::gathering_texts:
            return "the ranks' descriptions of their differing calls";
        default:
            return "its data";
    }
}

template <class Action>
void Operation::attempt(Action&& action) {
    try {
        action();
    } catch (...) {
        local_failure_ = std::current_exception();
    }
}

AgreementRecord Operation::record() {
    Signature signature(Signature::Form::hash, channel().rank());
    signature.field("operation", operation());
    Header words{};
    if (!local_failure_) {
        attempt([&] {
            describe(signature);
            words = header();
        });
    }
    if (local_failure_) {
        signature.fail({});
        words = {};
    }
    return AgreementRecord::of(signature, words);
}

void Operation::post_record(MPI_Comm comm) {
    mine_ = record();
    const Caller caller = channel().caller();
    post_agreement(mine_, combined_, comm, requests_.next(), caller.group, caller.rank);
}

void Operation::start() {
    local_failure_ = nullptr;
    disagreed_ = false;
    step_ = 0;
    exchange_ = channel().check_level() == CheckLevel::agree || shares_header();
    attempt([&] { prepare(); });
    if (!exchange_ && local_failure_) {
        state_ = State::done;
        std::rethrow_exception(local_failure_);
    }
    if (!exchange_) {
        state_ = State::ready;
        return;
    }
    state_ = State::agreeing;
    post_record(channel().agreement());
}

void Operation::move_on(bool may_post) {
    const Caller caller = channel().caller();
    // Each pass is one transition; it ends where something must be waited for.
    while (!finished()) {
        if (state_ == State::ready) {
            if (!may_post) {
                return;
            }
            begin(!disagreed_);
            continue;
        }
        if (!requests_.test(caller)) {
            return;
        }
        switch (state_) {
            case State::agreeing:
                on_agreed();
                break;
            case State::confirming:
                if (combined_.agreed()) {
                    post_step();
                } else {
                    post_sizes();
                }
                break;
            case State::stepping:
                if (posted()) {
                    state_ = State::done;
                    complete();
                    mark_finished();
                } else {
                    post_step();
                }
                break;
            case State::gathering_sizes:
                post_texts();
                break;
            case State::gathering_texts:
                state_ = State::done;
                throw_disagreement(caller.group, channel().ranks(), sizes_, texts_);
            case State::ready:
            case State::done:
                return;
        }
    }
}

void Operation::on_agreed() {
    // The verdict is known, but whatever follows travels on the data communicator, where each operation waits
    // for its turn: otherwise two ranks could post two operations there in different order.
    disagreed_ = !combined_.agreed();
    state_ = State::ready;
}

void Operation::begin(bool agreed) {
    if (!agreed) {
        post_sizes();
    } else if (exchange_ && confirms()) {
        attempt([&] { receive_header(combined_.header); });
        state_ = State::confirming;
        post_record(channel().data());
    } else {
        if (exchange_ && shares_header()) {
            receive_header(combined_.header);
        }
        post_step();
    }
}

void Operation::post_step() {
    state_ = State::stepping;
    if (post(step_++, requests_) == Posted::all) {
        mark_posted();
    }
}

void Operation::post_sizes() {
    state_ = State::gathering_sizes;
    Signature signature(Signature::Form::text, channel().rank());
    signature.field("operation", operation());
    if (!local_failure_) {
        attempt([&] { describe(signature); });
    }
    if (local_failure_) {
        signature.fail(describe_failure(local_failure_));
    }
    text_ = signature.serialise();
    text_size_ = static_cast<int>(text_.size());
    sizes_.assign(channel().ranks().size(), 0);
    check(MPI_Iallgather(&text_size_, 1, MPI_INT, sizes_.data(), 1, MPI_INT, channel().data(),
                         requests_.next()),
          "MPI_Iallgather", channel().caller());
}

void Operation::post_texts() {
    state_ = State::gathering_texts;
    places_ = displacements(sizes_);
    texts_.assign(static_cast<std::size_t>(places_.back() + sizes_.back()), '\0');
    check(MPI_Iallgatherv(text_.data(), text_size_, MPI_CHAR, texts_.data(), sizes_.data(), places_.data(),
                          MPI_CHAR, channel().data(), requests_.next()),
          "MPI_Iallgatherv", channel().caller());
    mark_posted();
}

}  // namespace plumb::mpi
