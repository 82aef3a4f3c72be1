#pragma once
// A repository of 17 small commits, 0 to 16, whose build makes a tiny program in redraft's place: it says of which
// commit it is, and `run` leaves a report. Each commit's files say how fast it is and whether it fails; how often a run
// misleads or dies is the same for all. Hashes are the same every time.

#include <string>
#include <vector>

#include "base/files.h"
#include "tests/support/command_output.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {

struct BisectCommit {
  double speed = 20000;  // tokens/s
  std::string finding;   // "": it passes
  /// What the build does: "build"; "fails"; "slow"; "stale": it leaves the program of the commit before; "dirty": it
  /// edits a file of the repository; "runner": it makes a redraft-runner of another commit.
  std::string build = "build";
};

struct BisectFlakes {
  int misleading = 0, dying = 0;  // percent of the runs
};

class BisectRepository {
 public:
  static constexpr int kCommits = 17;

  BisectRepository(const std::vector<BisectCommit>& commits, const BisectFlakes& flakes);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return folder_.file(name); }
  const std::string& hash(int commit) const { return hashes_.at(static_cast<std::size_t>(commit)); }
  /// Everything of it that a bisection must leave as it was: files, refs, objects, configuration, status.
  std::string snapshot() const;

  static constexpr const char* kBuild = "sh build.sh";

 private:
  std::string git(const std::string& arguments) const;

  testing_support::TempFolder folder_;
  std::string path_;
  std::vector<std::string> hashes_;
};

}  // namespace redraft::scenarios
