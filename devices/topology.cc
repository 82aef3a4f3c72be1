#include "devices/topology.h"

#include "base/error.h"
#include "base/text.h"

namespace redraft::devices {

int Topology::deviceOf(const std::string& role) const {
  std::vector<std::string> names;
  for (const RoleDevice& entry : roles) {
    if (entry.role == role) return entry.device;
    names.push_back(entry.role);
  }
  const std::string close = nearest(role, names);
  throwBadInput("topology", "no role is called \"" + role + "\"",
                close.empty() ? "the roles are " + join(names, ", ") : "did you mean \"" + close + "\"?");
}

}  // namespace redraft::devices
