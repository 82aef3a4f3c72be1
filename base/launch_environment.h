#pragma once
// Which of a run's processes this one is, and where they meet: read from the variables of torchrun, mpirun (Open MPI,
// and what sets PMI's), or srun. A pure function of the variables.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redraft {

struct LaunchEnvironment {
  std::string launcher;  // "redraft", "torchrun", "mpirun", "PMI", "srun"; "": none, one process
  int rank = 0;
  int worldSize = 1;
  int localRank = 0;
  std::optional<int> localWorldSize;  // on this host; not every launcher says it
  std::string masterAddress;          // of the rendezvous store; "" with one process
  int masterPort = 0;
  bool agentServesStore = false;   // torchrun's agent does; else rank 0
  int attempt = 0;                 // torchrun's restarts so far: their keys in the store differ
  std::optional<int> storeSocket;  // a bound socket that rank 0 inherited: no port can be lost to somebody else

  bool alone() const { return worldSize == 1; }
};

/// The value of a variable; nullopt when it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Of several launchers' sets the first of torchrun, mpirun, PMI and srun counts, as when torchrun is started by srun.
/// Throws Error(kBadInput) naming variables and remedy: a set that is not whole, numbers that contradict each other,
/// two launchers that number as many processes differently, no place to meet.
LaunchEnvironment readLaunchEnvironment(const Variables& variables);

/// Of this process.
LaunchEnvironment thisLaunchEnvironment();

/// The variables that torchrun would set for rank `rank` of `worldSize` processes on this host, for one that starts
/// them itself; they hide any other launcher's.
std::vector<std::pair<std::string, std::string>> launchVariables(int rank, int worldSize, int masterPort);

/// "node[01-03,7],other": "node01". Throws Error(kBadInput) for text that is no list of hosts.
std::string firstHost(const std::string& slurmNodeList);

inline constexpr const char* kStoreSocketVariable = "REDRAFT_STORE_SOCKET";
/// Set by launchVariables() alone: all processes are on this host, with one environment.
inline constexpr const char* kLaunchedVariable = "REDRAFT_LAUNCHED";

}  // namespace redraft
