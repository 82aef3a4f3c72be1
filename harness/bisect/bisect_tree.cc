#include "harness/bisect/bisect_tree.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "harness/bisect/command.h"

namespace redraft::harness {

BisectTree::BisectTree(const std::string& repository, std::string folder) : folder_(std::move(folder)) {
  const std::string root = outputOf({"git", "rev-parse", "--show-toplevel"}, repository);
  outputOf({"git", "clone", "--quiet", "--shared", "--no-checkout", root, folder_}, "");
}

BisectTree::~BisectTree() {
  std::error_code error;
  for (int attempt = 0; attempt < 3; ++attempt) {  // what was ended a moment ago may still have written a file
    std::filesystem::remove_all(folder_, error);
    if (!error) return;
  }
  log(LogLevel::kWarning, folder_ + " could not be removed: " + error.message());
}

std::string resolveCommit(const std::string& repository, const std::string& revision) {
  try {
    return outputOf({"git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"},
                    repository);
  } catch (const Error&) {
    throwBadInput("\"" + printable(revision) + "\"", "is no commit of the repository in " + repository,
                  "name a commit, a branch or a tag; see `git log`");
  }
}

void checkOut(const std::string& tree, const std::string& commit) {
  cleanTree(tree);
  outputOf({"git", "checkout", "--quiet", "--force", "--detach", commit}, tree);
}

void cleanTree(const std::string& tree) {
  outputOf({"git", "reset", "--quiet", "--hard"}, tree);
  outputOf({"git", "clean", "--quiet", "-fd"}, tree);
}

std::string subjectOf(const std::string& tree, const std::string& commit) {
  return outputOf({"git", "log", "-1", "--format=%s", commit}, tree);
}

std::vector<std::string> commitsBetween(const std::string& tree, const std::string& good, const std::string& bad) {
  CommandOptions options;
  options.folder = tree;
  if (!runCommand({"git", "merge-base", "--is-ancestor", good, bad}, options).ok())
    throwBadInput(good.substr(0, 12), "is no ancestor of " + bad.substr(0, 12), "name the good commit first");
  const std::string list = outputOf({"git", "rev-list", "--reverse", "--topo-order", good + ".." + bad}, tree);
  if (list.empty()) throwBadInput(good.substr(0, 12), "is also the bad commit", "name two commits");
  return split(list, '\n');
}

}  // namespace redraft::harness
