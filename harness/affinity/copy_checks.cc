// A5: copies that go through the host where they were declared to be direct, or are slow.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

constexpr std::int64_t kPairWithinNs = 1'000'000;                // of the two halves of a staged copy
constexpr std::int64_t kBandwidthFrom = std::int64_t{16} << 20;  // bytes; smaller copies are bound by latency

/// The declared direct edges, of all roles.
std::map<std::pair<std::int32_t, std::int32_t>, std::optional<double>> peerEdges(const Contract& contract) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::optional<double>> edges;
  for (const auto& [name, role] : contract.roles)
    for (const ContractCopy& copy : role.copies)
      if (copy.peer) edges[{copy.from, copy.to}] = copy.gigabytesPerSecond;
  return edges;
}

/// Finds the second half of each staged copy: the same bytes, up the host and down again, by one call or one role.
class StagedPairs {
 public:
  explicit StagedPairs(const TraceIndex& index) : index_(index) {
    index.each(RecordKind::kCopy, [&](const TraceRecord& copy) {
      const std::string& name = index.trace().text(copy.name);
      if (isToHost(name)) up_[{index.processOf(copy), copy.bytes}].push_back(&copy);
      if (isToDevice(name)) down_.push_back(&copy);
    });
    for (auto& [key, copies] : up_)
      std::sort(copies.begin(), copies.end(),
                [](const TraceRecord* a, const TraceRecord* b) { return a->startNs < b->startNs; });
  }

  const std::vector<const TraceRecord*>& down() const { return down_; }

  const TraceRecord* upOf(const TraceRecord& down) const {
    const auto found = up_.find({index_.processOf(down), down.bytes});
    if (found == up_.end() || down.bytes <= 0) return nullptr;
    const auto& copies = found->second;
    auto at = std::upper_bound(copies.begin(), copies.end(), down.startNs,
                               [](std::int64_t start, const TraceRecord* copy) { return start < copy->startNs; });
    while (at != copies.begin()) {
      const TraceRecord& up = **--at;
      if (down.startNs - up.startNs > kPairWithinNs + up.durationNs) return nullptr;
      const bool together = up.correlation == down.correlation ||
                            (!index_.roleOf(up).empty() && index_.roleOf(up) == index_.roleOf(down));
      if (up.device != down.device && together && up.endNs() <= down.startNs + down.durationNs) return &up;
    }
    return nullptr;
  }

 private:
  const TraceIndex& index_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const TraceRecord*>> up_;  // by process and bytes
  std::vector<const TraceRecord*> down_;
};

}  // namespace

TraceCheck checkStagedCopy(const TraceIndex& index) {
  CheckBuilder check(index, "A5", "staged-copy",
                     "declared direct copies do not go through the host, nor at half their speed");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  const auto edges = peerEdges(*index.contract());
  if (edges.empty()) return check.notComputable("the contract declares no direct copy between devices");
  const StagedPairs pairs(index);
  for (const TraceRecord* down : pairs.down()) {
    const TraceRecord* up = pairs.upOf(*down);
    if (up != nullptr && edges.contains({up->device, down->device}))
      check.violation(*down, std::to_string(down->bytes) + " bytes went from " + deviceText(up->device) + " to " +
                                 deviceText(down->device) + " through the host (up: event " +
                                 std::to_string(up->index) + ")");
  }
  index.each(RecordKind::kPeerCopy, [&](const TraceRecord& copy) {
    const auto edge = edges.find({copy.fromDevice, copy.toDevice});
    if (edge == edges.end()) return;
    if (copy.has(kStaged)) return check.violation(copy, "went through the host");
    if (!edge->second || copy.bytes < kBandwidthFrom || copy.durationNs <= 0) return;
    const double speed = static_cast<double>(copy.bytes) / static_cast<double>(copy.durationNs);  // bytes a ns: GB/s
    if (speed < *edge->second / 2)
      check.violation(copy, std::to_string(static_cast<std::int64_t>(speed)) + " GB/s, less than half of the probed " +
                                std::to_string(static_cast<std::int64_t>(*edge->second)));
  });
  if (!index.captured(RecordKind::kCopy) || !index.captured(RecordKind::kPeerCopy))
    return check.notComputable("only copies of both kinds, on both devices, show that none went through the host");
  return check.done();
}

}  // namespace redraft::harness
