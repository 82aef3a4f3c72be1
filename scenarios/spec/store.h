#pragma once
// The scenario files of a folder: `extends` followed, matrices expanded, twins derived, defaults filled in, paths made
// absolute.

#include <string>
#include <vector>

#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

inline constexpr std::size_t kMaxMatrix = 1000;      // combinations of one file
inline constexpr std::size_t kMaxExtendsDepth = 16;  // files in one chain
inline constexpr const char* kTwinSuffix = "/twin";

struct StoredScenario {
  Scenario scenario;
  std::string file;     // it came from
  bool isTwin = false;  // the same without the fault
  bool inSuite = true;  // false: run only where a filter selects it
};

/// All runnable scenarios under `root`/files, in order of file name, then matrix, each twin after its scenario. Throws
/// one Error(kBadInput) that names everything that is wrong, file by file.
std::vector<StoredScenario> loadScenarios(const std::string& root);

/// The scenarios of one file: none when it is abstract.
std::vector<StoredScenario> loadVariants(const std::string& root, const std::string& name);

/// `given` when not empty; else the nearest folder upward from `start`, then from this program, that holds
/// scenarios/files. Throws Error(kBadInput) when there is none.
std::string findScenarios(const std::string& given, const std::string& start);

/// The scenario of this name; throws Error(kBadInput) with the nearest name.
const StoredScenario& findScenario(const std::vector<StoredScenario>& scenarios, const std::string& name);

struct DataLink {
  std::string source;       // absolute
  std::string destination;  // relative to the run folder
};

/// Points a scenario's paths into its run folder, and says what has to be laid there.
std::vector<DataLink> relocateData(Scenario& scenario);

}  // namespace redraft::scenarios
