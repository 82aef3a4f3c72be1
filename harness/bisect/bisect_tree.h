#pragma once
// A clone of the user's repository that a bisection may check out, build and reset as it likes. It borrows the
// repository's objects (git clone --shared) and has all else of its own: refs, HEAD, index, work tree. A linked
// worktree would leave an entry in the repository when this program is killed; a clone leaves nothing there, ever.

#include <string>
#include <vector>

namespace redraft::harness {

class BisectTree {
 public:
  /// Clones `repository` (any folder in it) to `folder`, which must not exist. Throws Error(kBadInput).
  BisectTree(const std::string& repository, std::string folder);
  /// Removes the clone; what cannot be removed is named in a warning.
  ~BisectTree();
  BisectTree(const BisectTree&) = delete;
  BisectTree& operator=(const BisectTree&) = delete;

  const std::string& path() const { return folder_; }

 private:
  std::string folder_;
};

/// The full hash of a commit. Throws Error(kBadInput) when `revision` names none.
std::string resolveCommit(const std::string& repository, const std::string& revision);

/// Checks a commit out, with nothing left of the one before but what git ignores (build folders).
void checkOut(const std::string& tree, const std::string& commit);
/// Takes back what a build did to the tree's own files.
void cleanTree(const std::string& tree);

std::string subjectOf(const std::string& tree, const std::string& commit);

/// What `git bisect` may test between two commits: those of bad's history that are not of good's, oldest first. Throws
/// Error(kBadInput) when good is no ancestor of bad.
std::vector<std::string> commitsBetween(const std::string& tree, const std::string& good, const std::string& bad);

}  // namespace redraft::harness
