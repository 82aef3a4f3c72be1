#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "devices/kernel_cache.h"

namespace redraft::devices {
namespace {

/// Flags that the thread has set; nearly always empty.
thread_local std::vector<std::uint64_t> tracing;

class PerThreadFlag final : public TracingFlag {
 public:
  bool isTracing() const override { return std::find(tracing.begin(), tracing.end(), id_) != tracing.end(); }

  bool exchange(bool next) override {
    const auto position = std::find(tracing.begin(), tracing.end(), id_);
    const bool former = position != tracing.end();
    if (next && !former) tracing.push_back(id_);
    if (!next && former) tracing.erase(position);
    return former;
  }

 private:
  static inline std::atomic<std::uint64_t> next_{1};
  const std::uint64_t id_ = next_.fetch_add(1, std::memory_order_relaxed);  // an address could be used again
};

}  // namespace

std::unique_ptr<TracingFlag> perThreadTracingFlag() { return std::make_unique<PerThreadFlag>(); }

}  // namespace redraft::devices
