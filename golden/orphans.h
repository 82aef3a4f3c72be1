#pragma once
// Goldens that nothing can be compared with any more: their scenario is gone, or values of them are.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace redraft::golden {

/// What runs that are compared with a golden have.
struct GoldenUser {
  std::int64_t steps = 0;  // the most; 0: not known, the golden's values are not looked at
  bool evaluates = false;
};

struct Orphan {
  std::string file;
  std::string scenario;           // whose golden it is, or was
  std::vector<std::string> keys;  // values that no run has any more; empty: the whole file
  std::string why;
};

/// Of all goldens under `root`, in order of file name. `users`: by the name of the golden that they are compared with.
/// Throws Error(kBadInput) for a golden that cannot be read. A file of another suffix is none.
std::vector<Orphan> findOrphans(const std::string& root, const std::map<std::string, GoldenUser>& users);

/// Takes it away: the file, with the folders that are empty then, or the keys. What was removed, when, by which commit
/// and why goes into ROOT/pruned.jsonl, which keeps the last 200. Throws Error(kBadInput) without a reason.
struct PruneNote {
  std::string date, commit, reason;
};
void prune(const std::string& root, const Orphan& orphan, const PruneNote& note);

}  // namespace redraft::golden
