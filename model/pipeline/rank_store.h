#pragma once
// The key-value store at which the ranks of a run meet (c10d's TCPStore), and rounds of small messages over it.
// Blocking calls of its client know no way out when the server stands still, so only a thread of its own
// (StoreCollective's) may use one; a second connection carries what must not queue behind them.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/launch_environment.h"

namespace c10d {
class Store;
}

namespace redraft::model {

/// Connects, serving the store on rank 0 unless the launcher does. Throws Error(kEnvironment) with host and port when
/// it cannot be served or is not there within `timeout`.
c10::intrusive_ptr<c10d::Store> openStore(const LaunchEnvironment& launch, std::chrono::milliseconds timeout);
/// A further connection to a store that is served already.
c10::intrusive_ptr<c10d::Store> connectStore(const LaunchEnvironment& launch, std::chrono::milliseconds timeout);

/// Rounds in which every rank leaves a message for all others, and takes theirs; a rank that failed leaves its reason
/// in the place of its next message, so that whoever waits for it learns of it at once. One thread at a time but for
/// fail(); every method may throw RankLost.
class RankRounds {
 public:
  /// `launch`: with several processes. Keys begin with `prefix`, and are removed again: those of a round when the next
  /// one is over, the rest by leave().
  RankRounds(const LaunchEnvironment& launch, c10::intrusive_ptr<c10d::Store> store, std::string prefix,
             std::chrono::milliseconds timeout);
  ~RankRounds();

  /// Every rank's message of round `round` (0, 1, 2 …), in order of ranks. Gives up when `stopped()` holds, looked at
  /// now and then, with an empty list. `what` names the messages.
  std::vector<std::string> exchange(std::int64_t round, const std::string& message, const std::string& what,
                                    const std::function<bool()>& stopped);

  /// Leaves `why` instead of a message of round `round`. `origin`: the rank that failed first.
  void fail(std::int64_t round, int origin, const std::string& why);
  /// After the last exchange. Whoever serves the store, or leaves it to others, stays until all have left, `most` at
  /// the longest.
  void leave(std::chrono::milliseconds most);

 private:
  struct Message {
    bool failed = false;
    int origin = -1;
    std::string bytes;
  };

  std::string key(std::int64_t round, int rank, std::size_t part) const;
  void put(std::int64_t round, const Message& message);
  Message take(std::int64_t round, int rank);
  void waitFor(std::int64_t round, int rank, const std::string& what, std::chrono::steady_clock::time_point until,
               const std::function<bool()>& stopped);
  void remove(std::int64_t round);
  [[noreturn]] void nothingCame(std::int64_t round, const std::string& what);
  [[noreturn]] void storeGone(const std::string& reason) const;

  const LaunchEnvironment launch_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string prefix_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::pair<std::int64_t, std::size_t>> mine_;  // rounds whose messages lie in the store, with their parts
};

}  // namespace redraft::model
