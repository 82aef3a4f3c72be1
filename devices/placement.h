#pragma once
// Where the logical devices of a topology are on a machine. A scenario names logical devices; on simulated devices each
// is one of its own, on GPUs several may share one.

#include <string>
#include <vector>

#include "devices/topology.h"

namespace redraft::devices {

/// The processes of one machine that share a run out.
struct Processes {
  std::vector<std::vector<std::string>> roles;  // of each
  std::size_t self = 0;

  const std::vector<std::string>& own() const { return roles.at(self); }
  bool together(const std::string& role, const std::string& other) const;  // in one process
};

class Placement {
 public:
  /// Every logical device is itself: simulated devices.
  explicit Placement(const Topology& logical);

  /// Where the topology names a GPU for each logical device: there. Otherwise logical device i is GPU i % gpus
  /// (gpus ≥ 1): one a device where there are enough, and neighbours, as the drafters of a topology are, on different
  /// GPUs wherever there are two.
  static Placement onGpus(Topology logical, int gpus);
  /// The same for one of several processes: each has a run of the GPUs for its roles, of its own where there are
  /// enough, and knows where the others' roles are.
  static Placement onGpus(Topology logical, int gpus, const Processes& processes);

  /// As a run recorded it: `devices` holds the physical device of each logical one, empty for "every one itself".
  /// Throws Error(kBadInput) when it is not for this topology.
  static Placement recorded(Topology logical, const std::vector<int>& devices);

  int device(int logical) const { return devices_.at(static_cast<std::size_t>(logical)); }
  /// The physical device of each logical one.
  const std::vector<int>& devices() const { return devices_; }

  const Topology& logical() const { return logical_; }
  /// The same roles and copies in terms of physical devices. Copies within one device are no edges.
  const Topology& physical() const { return physical_; }

  /// Whether two roles that the scenario keeps apart share a device here.
  bool together(const std::string& role, const std::string& other) const;

 private:
  Placement(Topology logical, std::vector<int> devices);

  Topology logical_, physical_;
  std::vector<int> devices_;
};

}  // namespace redraft::devices
