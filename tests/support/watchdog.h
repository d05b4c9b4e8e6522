#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace plumb::test {

/// A thread that, unless the watchdog is destroyed within `limit`, calls `report` and ends the process with
/// code 124: the launcher then ends the other ranks. It makes no MPI call, so it works whatever the main
/// thread is stuck in.
class Watchdog {
  public:
    Watchdog(std::chrono::seconds limit, std::function<void()> report);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    void watch(std::chrono::seconds limit);

    std::function<void()> report_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool dismissed_ = false;
    std::thread thread_;
};

}  // namespace plumb::test
