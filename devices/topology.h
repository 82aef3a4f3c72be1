#pragma once
// A topology names logical devices by role, and says which copy edges are allowed and whether peer access is on.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace redraft::devices {

struct RoleDevice {
  std::string role;  // "target[0]"
  int device = 0;
};

struct Topology {
  int deviceCount = 8;
  bool peerAccess = true;
  std::vector<RoleDevice> roles;
  /// Allowed device-to-device copies (from, to). Host copies are always allowed.
  std::vector<std::pair<int, int>> copyEdges;
  /// On a machine with GPUs, the one of each logical device; empty: they are shared out (placement.h).
  std::vector<int> gpus;

  int deviceOf(const std::string& role) const;  // throws Error(kBadInput) naming the nearest role
  /// From a device to itself is always allowed.
  bool allowsCopy(int from, int to) const {
    return from == to || std::find(copyEdges.begin(), copyEdges.end(), std::pair{from, to}) != copyEdges.end();
  }
};

}  // namespace redraft::devices
