#pragma once
// A folder of scenario files that lives as long as a test.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/files.h"

namespace redraft::scenarios {

class ScenarioFolder {
 public:
  ScenarioFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "redraft-scenarios-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~ScenarioFolder() { std::filesystem::remove_all(root_); }
  ScenarioFolder(const ScenarioFolder&) = delete;
  ScenarioFolder& operator=(const ScenarioFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const std::string path = root_ + "/files/" + name + ".json";
    makeDirectories(std::filesystem::path(path).parent_path().string());
    writeFileAtomically(path, text);
  }
  const std::string& root() const { return root_; }

  /// A whole scenario but for its last key.
  static std::string whole(const std::string& more) {
    return R"({"schema": "redraft.scenario/1",
 "topology": {"devices": 4, "roles": {"target": [0], "drafter": [1, 2]}},
 "target": {"config": {"hidden_size": 8}}, "drafter": {"hidden_size": 8},
 "data": {"path": "data/x.txt"})" +
           (more.empty() ? "" : ",\n " + more) + "}";
  }

 private:
  std::string root_;
};

}  // namespace redraft::scenarios
