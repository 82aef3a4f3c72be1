#pragma once
// What the ranks of a run (a process each) exchange. Only the first drafter of each process calls it, its exchange of
// gradients or its own thread, never both at once, so the calls of a rank come in the same order on every rank.
//
// There is no all-reduce: sums whose bits must not depend on the number of ranks are made by the tree of gradient_sum.h
// from what is gathered. Rejected: a class for every library's operations, which each new operation would widen.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace redraft::model {

/// Another rank failed, is gone, or gave nothing in time. `rank`: the one to blame; -1 for the store that all ranks
/// meet at, where a launcher serves it.
class RankLost : public Error {
 public:
  RankLost(int rank, const std::string& place, const std::string& message)
      : Error(ErrorKind::kEnvironment, place, message,
              "look at what that rank recorded: rank-N/events.jsonl of the run folder, and its log"),
        rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// Every wait ends at the run's time-out, and at once when the run fails here (RunStopped) or on another rank
/// (RankLost). `what` says in messages what is exchanged: "the gradients".
class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Float32 vectors [n], contiguous, of one size and on any device; every rank's, in order of ranks, on that device
  /// [size, n].
  virtual at::Tensor allGather(const at::Tensor& values, const std::string& what) = 0;
  /// A few bytes of any length; every rank's, in order of ranks.
  virtual std::vector<std::string> allGather(const std::string& bytes, const std::string& what) = 0;

  /// Returns when every rank has come here.
  void barrier(const std::string& what) { allGather(std::string(), what); }

  /// Tells the other ranks that this one failed, and why: their waits end. `origin`: the rank that failed first, this
  /// one or the one that it lost. Any thread; the first call counts.
  virtual void abort(int origin, const std::string& why) noexcept = 0;
};

}  // namespace redraft::model
