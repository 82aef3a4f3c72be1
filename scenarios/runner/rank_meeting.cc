#include "scenarios/runner/rank_meeting.h"

#include <unistd.h>

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/error.h"
#include "model/pipeline/micro_batch_plan.h"
#include "model/pipeline/nccl_collective.h"
#include "model/pipeline/store_collective.h"

namespace redraft::scenarios {
namespace {

/// What has to be equal on all ranks.
std::string planText(const model::PipelineOptions& options, const std::optional<model::RunCheckpoint>& from) {
  return "configuration " + options.configuration + " from step " + std::to_string(from ? from->steps : 0);
}

void checkPlans(const std::vector<std::string>& plans, int self) {
  const std::string& own = plans[static_cast<std::size_t>(self)];
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (plans[rank] == own) continue;
    throwBadInput("rank " + std::to_string(rank), "runs " + plans[rank] + "; rank " + std::to_string(self) + " " + own,
                  "give all processes one run folder, on a file system that all of them see");
  }
}

std::string hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// The device whose stream the gradients of this process are gathered on.
at::Device firstDrafter(const model::PipelineOptions& options, const LaunchEnvironment& launch) {
  const model::WorkerPart part =
      model::partOfRank(static_cast<int>(options.targets.size()), static_cast<int>(options.drafters.size()),
                        launch.rank, launch.worldSize);
  return options.drafters[static_cast<std::size_t>(part.firstDrafter)];
}

}  // namespace

std::unique_ptr<model::Collective> meetRanks(const LaunchEnvironment& launch, model::RunMonitor& monitor,
                                             const model::PipelineOptions& options,
                                             const std::optional<model::RunCheckpoint>& from,
                                             const std::string& folder) {
  if (launch.alone()) return nullptr;
  std::unique_ptr<model::Collective> store = std::make_unique<model::StoreCollective>(monitor, launch);
  checkPlans(store->allGather(planText(options, from), "the plan"), launch.rank);
  const at::Device device = firstDrafter(options, launch);
  if (!device.is_cuda()) return store;
  const model::NcclOptions nccl{device.index(), model::connectStore(launch, monitor.timeout()), hostName(), folder};
  return std::make_unique<model::NcclCollective>(monitor, std::move(store), model::loadNccl(), nccl);
}

}  // namespace redraft::scenarios
