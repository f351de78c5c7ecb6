#pragma once

#include "cuda/runtime/device.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <utility>

namespace boxsum::cuda {

/// The plans of the last calls, which calls without a plan of their own share. `Key` is all that a plan is made of but
/// its device, and compares.
template <typename Key, typename Plan>
class plan_cache {
  public:
    /// The device's, of `make()` where there is none.
    template <typename Make>
    Plan find(const Key& key, int device, Make&& make) {
        {
            const std::lock_guard lock(mutex_);
            for (auto e = entries_.begin(); e != entries_.end(); ++e)
                if (e->plan.device() == device && e->key == key) {
                    entries_.splice(entries_.begin(), entries_, e);
                    return e->plan;
                }
        }
        const device_scope scope(device);
        const Plan made = make();
        const std::lock_guard lock(mutex_);
        entries_.push_front({key, made});
        if (entries_.size() > most_plans) entries_.pop_back();
        return made;
    }

  private:
    static constexpr std::size_t most_plans = 64;

    struct entry {
        Key key;
        Plan plan;
    };

    std::mutex mutex_;
    std::list<entry> entries_;  // the last used first
};

}  // namespace boxsum::cuda
