#include "support/watchdog.h"

#include <unistd.h>

#include <utility>

namespace plumb::test {

Watchdog::Watchdog(std::chrono::seconds limit, std::function<void()> report) : report_(std::move(report)) {
    thread_ = std::thread([this, limit] { watch(limit); });
}

Watchdog::~Watchdog() {
    {
        const std::scoped_lock lock(mutex_);
        dismissed_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Watchdog::watch(std::chrono::seconds limit) {
    constexpr int kTimedOut = 124;
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, limit, [this] { return dismissed_; })) return;
    report_();
    // The first rank to end takes the others with it: let them speak before.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    _exit(kTimedOut);
}

}  // namespace plumb::test
