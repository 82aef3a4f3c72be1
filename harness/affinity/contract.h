#pragma once
// The affinity contract: which role may use which devices, streams and copies. docs/formats.md ("Contract") specifies
// the file, scenarios/schema/contract.schema.json is its JSON Schema.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "devices/topology.h"

namespace redraft::harness {

inline constexpr const char* kContractSchema = "redraft.contract/1";

/// A stream is known by its number within its context.
struct ContractStream {
  std::int32_t context = -1, stream = -1;
  bool operator==(const ContractStream&) const = default;
  auto operator<=>(const ContractStream&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("context", context);
    visit("stream", stream);
  }
};

/// A copy between two devices.
struct ContractCopy {
  std::int32_t from = -1, to = -1;
  bool peer = true;                          // directly; false: staged through the host is right
  std::optional<double> gigabytesPerSecond;  // as probed; copies that reach less than half are found
  bool operator==(const ContractCopy&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("from", from);
    visit("to", to);
    visit.unless("peer", peer, true);
    visit("gb_per_s", gigabytesPerSecond);
  }
};

struct RoleContract {
  std::vector<std::int32_t> devices;
  std::vector<ContractStream> streams;    // none: any
  std::vector<ContractCopy> copies;       // that it may issue
  std::vector<std::int64_t> threads;      // whose calls are the role's, where records name none
  std::vector<std::string> threadNames;   // the same by name; globs
  bool unclaimed = false;                 // what no other role claims is its own
  bool defaultStream = false;             // it may use its context's null stream
  std::int64_t hostSyncs = 0;             // waits of the host that a step may have
  std::optional<std::int64_t> setDevice;  // calls of cudaSetDevice that a step may have
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("devices", devices);
    visit.unless("streams", streams, std::vector<ContractStream>());
    visit.unless("copies", copies, std::vector<ContractCopy>());
    visit.unless("threads", threads, std::vector<std::int64_t>());
    visit.unless("thread_names", threadNames, std::vector<std::string>());
    visit.unless("unclaimed", unclaimed, false);
    visit.unless("default_stream", defaultStream, false);
    visit.unless("host_syncs", hostSyncs, 0);
    visit("set_device", setDevice);
  }
  bool mayUse(std::int32_t device) const;
  /// Whether a copy that is staged through the host may read from (or write to) this device for the role.
  bool mayStageFrom(std::int32_t device) const;
  bool mayStageTo(std::int32_t device) const;
};

struct Contract {
  std::string schema = kContractSchema;
  std::map<std::string, RoleContract> roles;
  std::vector<std::vector<std::int32_t>> graphs;  // sets of devices that the nodes of one graph may be on
  std::int64_t warmupSteps = 1;                   // code may be loaded in the first ones
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("roles", roles);
    visit.unless("graphs", graphs, std::vector<std::vector<std::int32_t>>());
    visit.unless("warmup_steps", warmupSteps, 1);
  }
};

/// Throws Error(kBadInput) with the file and the key.
Contract loadContract(const std::string& path);
Contract parseContract(const std::string& text, const std::string& name);
/// parseContract(contractText(x)) is x.
std::string contractText(const Contract& contract);

/// What a run's topology allows. Host waits are not limited: a topology says nothing of them.
Contract contractOf(const devices::Topology& topology);

/// The same where device i is `devices[i]`; empty: every one itself. Roles may then share a device, and a copy within
/// one is no edge. Throws Error(kBadInput) for a device that is not among them.
Contract placedOn(const Contract& contract, const std::vector<int>& devices);

}  // namespace redraft::harness
