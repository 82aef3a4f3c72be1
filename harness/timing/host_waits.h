#pragma once
// When the host's threads sat in calls that wait for a device.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/affinity/trace_index.h"

namespace redraft::harness {

struct HostWait {
  std::int64_t begin = 0, end = 0;
  const TraceRecord* record = nullptr;  // the call, or where no calls were recorded the synchronisation
};

class HostWaits {
 public:
  /// The index outlives this.
  explicit HostWaits(const TraceIndex& index);

  /// Of whoever made the call: its role, which may have several threads, or where records name no roles its thread. By
  /// begin, none within another.
  /// Of simulated devices none.
  const std::vector<HostWait>& of(const TraceRecord& call) const;
  /// All, to be counted.
  const std::vector<HostWait>& all() const { return all_; }

 private:
  using Actor = std::tuple<std::string, std::int64_t, std::int64_t>;  // role; or process and thread

  Actor actorOf(const TraceRecord& call) const;
  void collect();

  const TraceIndex& index_;
  std::vector<HostWait> all_;
  std::map<Actor, std::vector<HostWait>> byActor_;
};

}  // namespace redraft::harness
