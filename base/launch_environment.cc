#include "base/launch_environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/characters.h"
#include "base/error.h"
#include "base/text.h"

namespace redraft {
namespace {

constexpr int kMaxProcesses = 1 << 16;
constexpr int kDefaultPort = 29500;

struct Launcher {
  const char* name;
  const char* needs;  // a variable without which the others are not this launcher's; "": none
  std::vector<const char*> rank, size, localRank, localSize;  // the first that is set counts
};

/// In the order in which they count.
const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> kAll = {
      {"torchrun", "", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}},
      {"mpirun",
       "",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
      {"PMI",
       "",
       {"PMI_RANK"},
       {"PMI_SIZE"},
       {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
       {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}},
      // A batch script has SLURM_PROCID too, and is no task: srun alone sets the step's hosts.
      {"srun",
       "SLURM_STEP_NODELIST",
       {"SLURM_PROCID"},
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       {"SLURM_LOCALID"},
       {}},
  };
  return kAll;
}

int wholeNumber(const std::string& name, const std::string& text, int least, int most) {
  int number = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || stop != text.data() + text.size() || number < least || number > most) {
    throwBadInput(
        "variable " + name,
        "\"" + printable(text) + "\" is no number from " + std::to_string(least) + " to " + std::to_string(most),
        "the launcher sets it; unset it when it is left over from elsewhere");
  }
  return number;
}

/// One number under one of several names.
struct Setting {
  std::string name;
  std::optional<std::string> text;

  int number(int least, int most) const { return wholeNumber(name, *text, least, most); }
};

Setting firstSet(const Variables& variables, const std::vector<const char*>& names) {
  for (const char* name : names)
    if (auto text = variables(name)) return {name, std::move(text)};
  return {names.empty() ? "" : names.front(), std::nullopt};
}

[[noreturn]] void contradict(const std::string& names, const std::string& message) {
  throwBadInput("variables " + names, message,
                "start all processes by one launcher, and set none of its variables by hand");
}

void checkWhole(const Launcher& launcher, const std::vector<const Setting*>& settings) {
  std::string present, missing;
  for (const Setting* each : settings) {
    std::string& list = each->text ? present : missing;
    list += (list.empty() ? "" : ", ") + each->name;
  }
  if (missing.empty()) return;
  throwBadInput("variables of " + std::string(launcher.name), present + " set, " + missing + " not",
                "start with " + std::string(launcher.name) + ", or unset " + present);
}

/// This process's numbers by one launcher; nullopt when it is not at work.
std::optional<LaunchEnvironment> readLauncher(const Variables& variables, const Launcher& launcher) {
  if (*launcher.needs != '\0' && !variables(launcher.needs)) return std::nullopt;
  const Setting rank = firstSet(variables, launcher.rank), size = firstSet(variables, launcher.size),
                localRank = firstSet(variables, launcher.localRank),
                localSize = firstSet(variables, launcher.localSize);
  if (!rank.text && !size.text && !localRank.text) return std::nullopt;
  checkWhole(launcher, {&rank, &size, &localRank});
  LaunchEnvironment found;
  found.launcher = launcher.name;
  found.worldSize = size.number(1, kMaxProcesses);
  found.rank = rank.number(0, kMaxProcesses);
  found.localRank = localRank.number(0, kMaxProcesses);
  if (localSize.text) found.localWorldSize = localSize.number(1, kMaxProcesses);
  if (found.rank >= found.worldSize)
    contradict(rank.name + ", " + size.name, "rank " + *rank.text + " of " + *size.text + " processes");
  if (found.localRank > found.rank)
    contradict(localRank.name + ", " + rank.name, "local rank " + *localRank.text + " is beyond rank " + *rank.text);
  if (found.localWorldSize && (found.localRank >= *found.localWorldSize || *found.localWorldSize > found.worldSize))
    contradict(
        localRank.name + ", " + localSize.name + ", " + size.name,
        "local rank " + *localRank.text + " of " + *localSize.text + " on this host, of " + *size.text + " in all");
  return found;
}

/// Ranks that a script set once for all of a launcher's processes make every one of them the same rank.
void checkAgreement(const LaunchEnvironment& chosen, const LaunchEnvironment& other) {
  if (chosen.worldSize != other.worldSize || chosen.rank == other.rank) return;
  contradict("of " + chosen.launcher + " and " + other.launcher,
             "rank " + std::to_string(chosen.rank) + " by " + chosen.launcher + ", " + std::to_string(other.rank) +
                 " by " + other.launcher + ", of " + std::to_string(chosen.worldSize) + " processes each");
}

std::string meetingHost(const Variables& variables, const LaunchEnvironment& launch) {
  if (auto address = variables("MASTER_ADDR"); address && !address->empty()) return *address;
  if (launch.launcher == "srun") return firstHost(variables("SLURM_STEP_NODELIST").value_or(""));
  if (launch.launcher != "torchrun" && launch.localWorldSize == launch.worldSize) return "127.0.0.1";
  throwBadInput("variable MASTER_ADDR", "not set: the processes do not know where to meet",
                "set it to the host of rank 0, for all of them");
}

int meetingPort(const Variables& variables, const LaunchEnvironment& launch) {
  if (const auto port = variables("MASTER_PORT")) return wholeNumber("MASTER_PORT", *port, 1, 65535);
  if (launch.launcher == "torchrun")
    throwBadInput("variable MASTER_PORT", "not set: the processes do not know where to meet",
                  "set it to a free port of the host in MASTER_ADDR, for all of them");
  const auto job = variables("SLURM_JOB_ID");
  if (launch.launcher != "srun" || !job || job->empty()) return kDefaultPort;
  return kDefaultPort +
         wholeNumber("SLURM_JOB_ID", job->substr(job->size() - std::min<std::size_t>(3, job->size())), 0, 999);
}

bool isHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '-' || c == '.' || c == '_';
}

}  // namespace

std::string firstHost(const std::string& slurmNodeList) {
  std::string host;
  std::size_t at = 0;
  const auto take = [&](const auto& wanted) {
    while (at < slurmNodeList.size() && wanted(slurmNodeList[at])) host += slurmNodeList[at++];
  };
  take(isHostCharacter);
  while (at < slurmNodeList.size() && slurmNodeList[at] == '[') {
    ++at;
    const std::size_t before = host.size();
    take(isDigit);
    const std::size_t close = slurmNodeList.find(']', at);
    if (host.size() == before || close == std::string::npos) host.clear();
    if (host.empty()) break;
    at = close + 1;
    take(isHostCharacter);
  }
  if (host.empty() || (at < slurmNodeList.size() && slurmNodeList[at] != ','))
    throwBadInput("variable SLURM_STEP_NODELIST", "\"" + printable(slurmNodeList) + "\" is no list of hosts",
                  "set MASTER_ADDR to the host of rank 0");
  return host;
}

LaunchEnvironment readLaunchEnvironment(const Variables& variables) {
  std::optional<LaunchEnvironment> chosen;
  for (const Launcher& launcher : launchers()) {
    // What a chosen launcher was itself started by may be half-set by then; only a whole set can contradict.
    const bool whole = !chosen || (firstSet(variables, launcher.rank).text && firstSet(variables, launcher.size).text &&
                                   firstSet(variables, launcher.localRank).text);
    const auto found = whole ? readLauncher(variables, launcher) : std::nullopt;
    if (!found) continue;
    // torchrun numbers as its rendezvous comes out; RANK without torchrun is somebody's script.
    if (chosen && !variables("TORCHELASTIC_RUN_ID")) checkAgreement(*chosen, *found);
    if (!chosen) chosen = found;
  }
  if (!chosen) return {};
  if (chosen->alone()) return *chosen;
  chosen->agentServesStore = variables("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  if (const auto count = variables("TORCHELASTIC_RESTART_COUNT"))
    chosen->attempt = wholeNumber("TORCHELASTIC_RESTART_COUNT", *count, 0, kMaxProcesses);
  chosen->masterAddress = meetingHost(variables, *chosen);
  chosen->masterPort = meetingPort(variables, *chosen);
  if (const auto socket = variables(kStoreSocketVariable); socket && chosen->rank == 0)
    chosen->storeSocket = wholeNumber(kStoreSocketVariable, *socket, 3, 1 << 20);
  if (variables(kLaunchedVariable)) chosen->launcher = "redraft";
  return *chosen;
}

LaunchEnvironment thisLaunchEnvironment() {
  return readLaunchEnvironment([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

std::vector<std::pair<std::string, std::string>> launchVariables(int rank, int worldSize, int masterPort) {
  const std::string self = std::to_string(rank), size = std::to_string(worldSize);
  return {{"RANK", self},
          {"WORLD_SIZE", size},
          {"LOCAL_RANK", self},
          {"LOCAL_WORLD_SIZE", size},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(masterPort)},
          {"TORCHELASTIC_USE_AGENT_STORE", "False"},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {kLaunchedVariable, "1"}};
}

}  // namespace redraft
