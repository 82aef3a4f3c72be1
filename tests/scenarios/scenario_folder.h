#pragma once
// A folder of scenario files that lives as long as a test.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {

class ScenarioFolder {
 public:
  void write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.file("files/" + name + ".json");
    makeDirectories(std::filesystem::path(path).parent_path().string());
    writeFileAtomically(path, text);
  }
  const std::string& root() const { return folder_.path(); }

  /// A whole scenario but for its last key.
  static std::string whole(const std::string& more) {
    return R"({"schema": "redraft.scenario/1",
 "topology": {"devices": 4, "roles": {"target": [0], "drafter": [1, 2]}},
 "target": {"config": {"hidden_size": 8}}, "drafter": {"hidden_size": 8},
 "data": {"path": "data/x.txt"})" +
           (more.empty() ? "" : ",\n " + more) + "}";
  }

 private:
  testing_support::TempFolder folder_;
};

}  // namespace redraft::scenarios
