#include "devices/placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace redraft::devices {
namespace {

std::vector<int> itself(int count) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

Topology place(const Topology& logical, const std::vector<int>& devices) {
  const auto at = [&](int device) { return devices.at(static_cast<std::size_t>(device)); };
  Topology physical;
  physical.deviceCount = devices.empty() ? 0 : *std::max_element(devices.begin(), devices.end()) + 1;
  physical.peerAccess = logical.peerAccess;
  for (const RoleDevice& entry : logical.roles) physical.roles.push_back({entry.role, at(entry.device)});
  for (const auto& [from, to] : logical.copyEdges) {
    if (!physical.allowsCopy(at(from), at(to))) physical.copyEdges.emplace_back(at(from), at(to));
  }
  return physical;
}

}  // namespace

Placement::Placement(Topology logical, std::vector<int> devices)
    : logical_(std::move(logical)), physical_(place(logical_, devices)), devices_(std::move(devices)) {}

Placement::Placement(const Topology& logical) : Placement(logical, itself(logical.deviceCount)) {}

bool Processes::together(const std::string& role, const std::string& other) const {
  return std::any_of(roles.begin(), roles.end(), [&](const std::vector<std::string>& process) {
    return std::find(process.begin(), process.end(), role) != process.end() &&
           std::find(process.begin(), process.end(), other) != process.end();
  });
}

Placement Placement::onGpus(Topology logical, int gpus) { return onGpus(std::move(logical), gpus, {{{}}, 0}); }

Placement Placement::onGpus(Topology logical, int gpus, const Processes& processes) {
  REDRAFT_CHECK(gpus > 0, "a placement needs a GPU");
  if (!logical.gpus.empty()) {
    std::vector<int> named = logical.gpus;
    return {std::move(logical), std::move(named)};
  }
  const auto gpuOf = [&](int device, std::size_t process) {
    const int count = static_cast<int>(processes.roles.size()), self = static_cast<int>(process);
    const int first = self * gpus / count, share = std::max(1, (self + 1) * gpus / count - first);
    return first + device % share;
  };
  // Whose roles a device is for: its own come last, so that one that two processes share is where its own are.
  std::vector<std::size_t> processOf(static_cast<std::size_t>(logical.deviceCount), processes.self);
  const auto claim = [&](std::size_t process) {
    for (const std::string& role : processes.roles[process])
      processOf.at(static_cast<std::size_t>(logical.deviceOf(role))) = process;
  };
  for (std::size_t process = 0; process < processes.roles.size(); ++process) claim(process);
  claim(processes.self);
  std::vector<int> devices = itself(logical.deviceCount);
  for (int& device : devices) device = gpuOf(device, processOf[static_cast<std::size_t>(device)]);
  return {std::move(logical), std::move(devices)};
}

Placement Placement::recorded(Topology logical, const std::vector<int>& devices) {
  if (devices.empty()) return Placement(logical);
  const bool valid =
      devices.size() == static_cast<std::size_t>(logical.deviceCount) &&
      std::all_of(devices.begin(), devices.end(), [](int device) { return 0 <= device && device < 4096; });
  if (!valid) {
    throwBadInput("placement", "not a device for each of the topology's " + std::to_string(logical.deviceCount),
                  "the record is of another scenario: run it again");
  }
  return {std::move(logical), devices};
}

bool Placement::together(const std::string& role, const std::string& other) const {
  return logical_.deviceOf(role) != logical_.deviceOf(other) && physical_.deviceOf(role) == physical_.deviceOf(other);
}

}  // namespace redraft::devices
