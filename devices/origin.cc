#include "devices/origin.h"

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace redraft::devices {
namespace {

std::atomic<OriginProvider> provider{nullptr};

struct RoleTable {
  std::mutex mutex;
  std::vector<std::string> names{"none"};
  std::unordered_map<std::string, RoleId> ids{{"none", 0}};
};

RoleTable& roleTable() {
  static RoleTable table;
  return table;
}

}  // namespace

const char* phaseName(Phase phase) {
  constexpr std::array kNames = {
      "none",     "data",      "target_forward", "hand_off",  "mask_build", "drafter_forward", "loss",
      "backward", "recompute", "all_reduce",     "optimizer", "evaluate",   "checkpoint"};
  const auto index = static_cast<std::size_t>(phase);
  return index < kNames.size() ? kNames[index] : "unknown";
}

RoleId roleId(const std::string& name) {
  RoleTable& table = roleTable();
  const std::lock_guard lock(table.mutex);
  const auto [entry, added] = table.ids.try_emplace(name, static_cast<RoleId>(table.names.size()));
  if (added) {
    REDRAFT_CHECK(table.names.size() <= std::numeric_limits<RoleId>::max(), "more role names than a RoleId can number");
    table.names.push_back(name);
  }
  return entry->second;
}

std::string roleName(RoleId id) {
  RoleTable& table = roleTable();
  const std::lock_guard lock(table.mutex);
  return id < table.names.size() ? table.names[id] : "unknown";
}

void setOriginProvider(OriginProvider next) { provider.store(next, std::memory_order_release); }

Origin currentOrigin() {
  const OriginProvider current = provider.load(std::memory_order_acquire);
  return current ? current() : Origin{};
}

}  // namespace redraft::devices
