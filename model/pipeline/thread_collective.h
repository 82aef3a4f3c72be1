#pragma once
// Ranks that are threads of one process, over the same Exchange as the drafters: what the other implementations are
// held to, and how several ranks are tried in one test.

#include <memory>
#include <string>
#include <vector>

#include "model/pipeline/collective.h"
#include "model/pipeline/exchange.h"
#include "model/pipeline/hand_off.h"

namespace redraft::model {

/// What the ranks of one group share; outlives them. `monitor` bounds their waits, and ends them all when it fails.
class ThreadGroup {
 public:
  ThreadGroup(RunMonitor& monitor, int size);
  /// One object a rank, for its own thread.
  std::unique_ptr<Collective> rank(int rank);

 private:
  friend class ThreadCollective;
  RunMonitor& monitor_;
  const int size_;
  Exchange<HandOff> tensors_;
  Exchange<std::string> bytes_;
};

}  // namespace redraft::model
