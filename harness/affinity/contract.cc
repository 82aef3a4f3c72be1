#include "harness/affinity/contract.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/files.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kMaxContractBytes = 4u << 20;

void checkRole(const std::string& place, const RoleContract& role) {
  if (role.devices.empty())
    throwBadInput(place + "/devices", "the role has no device", "name the devices that it may use");
  for (const std::int32_t device : role.devices)
    if (device < 0) throwBadInput(place + "/devices", "device " + std::to_string(device) + " cannot be");
  for (const ContractCopy& copy : role.copies) {
    if (copy.from < 0 || copy.to < 0) throwBadInput(place + "/copies", "a copy is from a device to a device");
    if (copy.gigabytesPerSecond && !(*copy.gigabytesPerSecond > 0))
      throwBadInput(place + "/copies", "gb_per_s is not above 0");
  }
  if (role.hostSyncs < 0 || role.setDevice.value_or(0) < 0) throwBadInput(place, "a limit is below 0");
}

}  // namespace

bool RoleContract::mayUse(std::int32_t device) const {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

bool RoleContract::mayStageFrom(std::int32_t device) const {
  return std::any_of(copies.begin(), copies.end(),
                     [device](const ContractCopy& copy) { return !copy.peer && copy.from == device; });
}

bool RoleContract::mayStageTo(std::int32_t device) const {
  return std::any_of(copies.begin(), copies.end(),
                     [device](const ContractCopy& copy) { return !copy.peer && copy.to == device; });
}

Contract parseContract(const std::string& text, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(text, name);
  auto contract = recordFromJson<Contract>(document.root(), name + ": ");
  if (contract.schema != kContractSchema)
    throwBadInput(name + ": /schema", "\"" + printable(contract.schema) + "\" is not known",
                  std::string("this version reads ") + kContractSchema);
  if (contract.roles.empty()) throwBadInput(name + ": /roles", "there is no role", "name at least one");
  for (const auto& [role, of] : contract.roles) checkRole(name + ": /roles/" + role, of);
  const auto takesRest = [](const auto& entry) { return entry.second.unclaimed; };
  if (std::count_if(contract.roles.begin(), contract.roles.end(), takesRest) > 1)
    throwBadInput(name + ": /roles", "more than one role takes what is unclaimed", "leave it to one");
  if (contract.warmupSteps < 0) throwBadInput(name + ": /warmup_steps", "below 0");
  return contract;
}

Contract loadContract(const std::string& path) { return parseContract(readFile(path, kMaxContractBytes), path); }

std::string contractText(const Contract& contract) { return pretty(recordToJson(contract)); }

Contract contractOf(const devices::Topology& topology) {
  Contract contract;
  for (const devices::RoleDevice& worker : topology.roles) {
    RoleContract& role = contract.roles[worker.role];
    role.devices = {worker.device};
    role.defaultStream = true;
    role.hostSyncs = std::numeric_limits<std::int64_t>::max();
    for (const auto& [from, to] : topology.copyEdges) {
      if (from == worker.device || to == worker.device)
        role.copies.push_back({from, to, topology.peerAccess, std::nullopt});
    }
  }
  return contract;
}

Contract placedOn(const Contract& contract, const std::vector<int>& devices) {
  if (devices.empty()) return contract;
  const auto place = [&devices](std::int32_t device) {
    if (device < 0 || static_cast<std::size_t>(device) >= devices.size())
      throwBadInput("contract", "device " + std::to_string(device) + " is none of the topology's " +
                                    std::to_string(devices.size()));
    return devices[static_cast<std::size_t>(device)];
  };
  Contract placed = contract;
  for (auto& [name, role] : placed.roles) {
    for (std::int32_t& device : role.devices) device = place(device);
    for (ContractCopy& copy : role.copies) copy.from = place(copy.from), copy.to = place(copy.to);
    std::erase_if(role.copies, [](const ContractCopy& copy) { return copy.from == copy.to; });
  }
  for (std::vector<std::int32_t>& graph : placed.graphs)
    for (std::int32_t& device : graph) device = place(device);
  return placed;
}

}  // namespace redraft::harness
