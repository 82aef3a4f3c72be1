#include "model/pipeline/pipeline.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>

#include <functional>
#include <list>
#include <thread>
#include <utility>

#include "base/error.h"
#include "model/instrument.h"
#include "model/pipeline/drafter_worker.h"
#include "model/pipeline/pipeline_shared.h"
#include "model/pipeline/target_worker.h"
#include "model/role.h"

namespace redraft::model {

namespace {

std::vector<std::string> drafterNames(const MicroBatchPlan& plan) {
  std::vector<std::string> names;
  for (int d = plan.part().firstDrafter; d < plan.part().lastDrafter; ++d) names.push_back(workerName("drafter", d));
  return names;
}

MicroBatchPlan planOf(const PipelineOptions& options, const Collective* ranks) {
  const int targets = static_cast<int>(options.targets.size()), drafters = static_cast<int>(options.drafters.size());
  if (ranks == nullptr) return {options.batch.microBatches, targets, drafters};
  return {options.batch.microBatches, targets, drafters, partOfRank(targets, drafters, ranks->rank(), ranks->size())};
}

GradientRanks gradientRanks(const PipelineOptions& options, const MicroBatchPlan& plan, Collective* ranks) {
  GradientRanks all{ranks, {}};
  for (int r = 0; ranks != nullptr && r < ranks->size(); ++r) {
    const WorkerPart part = partOfRank(static_cast<int>(options.targets.size()),
                                       static_cast<int>(options.drafters.size()), r, ranks->size());
    all.leaves.emplace_back(plan.first(part.firstDrafter), plan.first(part.lastDrafter));
  }
  return all;
}

/// Tells the other ranks of a role's own error.
void tellRanks(Collective& ranks, const std::string& role, const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const RankLost& lost) {
    ranks.abort(lost.rank(), lost.message());
  } catch (const std::exception& failed) {
    const std::string text = failed.what();
    ranks.abort(ranks.rank(), role + " failed: " + text.substr(0, text.find('\n')));
  } catch (...) {
    ranks.abort(ranks.rank(), role + " failed");
  }
}

BatchOptions batchOptions(const PipelineOptions& options, const DrafterConfig& drafter) {
  BatchOptions batch = options.batch;
  batch.blockSize = drafter.blockSize;
  batch.maskTokenId = drafter.maskTokenId;
  return batch;
}

void declareOwn(c10::Stream stream) {
  if (devices::Declarations* const seen = instrument().declarations()) seen->owns(placeOf(stream));
}

/// The threads of a run. Joined before it ends, whatever happens; what they knew to be done is then known here.
class RoleThreads {
 public:
  explicit RoleThreads(PipelineShared& shared) : shared_(shared) {}
  ~RoleThreads() {
    for (RoleThread& role : threads_) {
      if (!role.thread.joinable()) continue;  // it could not be started
      role.thread.join();
      instrument().observe(role.known);
    }
  }
  RoleThreads(const RoleThreads&) = delete;
  RoleThreads& operator=(const RoleThreads&) = delete;

  void start(std::string role, at::Device device, std::function<void()> body) {
    try {
      devices::HostMark& known = threads_.emplace_back().known;
      threads_.back().thread = std::thread([this, role = std::move(role), device, body = std::move(body), &known] {
        const RoleScope scope(role);
        runRole(role, device, body);
        instrument().publish(known);
      });
    } catch (...) {
      shared_.monitor.fail(std::current_exception());  // or those that run would wait for this one
      throw;
    }
  }

 private:
  struct RoleThread {
    std::thread thread;
    devices::HostMark known;  // at its end
  };

  void runRole(const std::string& role, at::Device device, const std::function<void()>& body) noexcept {
    try {
      const c10::OptionalDeviceGuard guard(device.is_cpu() ? std::optional<at::Device>() : device);
      c10::OptionalStreamGuard stream;
      if (shared_.options.ownStream && !device.is_cpu()) {
        stream.reset_stream(shared_.options.ownStream(role, device));
        declareOwn(stream.current_stream().value());
      }
      shared_.observer.roleBegan(role, device);
      body();
      shared_.observer.roleEnded(role, device);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      if (!isRunStopped(error)) {
        shared_.observer.roleFailed(role, error);
        if (shared_.ranks != nullptr) tellRanks(*shared_.ranks, role, error);
      }
      shared_.monitor.fail(error);
    }
  }

  PipelineShared& shared_;
  std::list<RoleThread> threads_;
};

}  // namespace

std::string workerName(const std::string& role, std::size_t index) { return role + "[" + std::to_string(index) + "]"; }

TargetConfig PipelineModels::storedTarget() const {
  TargetConfig stored = targetConfig;
  if (source == FeatureSource::kTable) stored.layers = 0;
  return stored;
}

PipelineShared::PipelineShared(const PipelineOptions& options, const PipelineModels& models,
                               const std::vector<Sample>& samples, RunMonitor& monitor, RunRecord* record,
                               PipelineObserver& observer, std::int64_t firstStep, Collective* ranks)
    : options(options),
      models(models),
      monitor(monitor),
      record(record),
      observer(observer),
      firstStep(firstStep),
      ranks(ranks),
      plan(planOf(options, ranks)),
      batches(samples, batchOptions(options, models.drafterConfig)),
      queue(monitor, options.queueDepth, firstStep * plan.queued()),
      gradients(monitor, drafterNames(plan), options.batch.microBatches, gradientRanks(options, plan, ranks)),
      sums(monitor, drafterNames(plan), ranks),
      hashes(monitor, drafterNames(plan), ranks) {}

void runPipeline(const PipelineOptions& options, const PipelineModels& models, const std::vector<Sample>& samples,
                 RunMonitor& monitor, RunRecord* record, PipelineObserver& observer,
                 const std::optional<RunCheckpoint>& from, Collective* ranks) {
  REDRAFT_CHECK((record != nullptr) == (ranks == nullptr || ranks->rank() == 0), "rank 0 keeps the record");
  checkPair(models.targetConfig, models.drafterConfig, "drafter");
  if (from && record != nullptr) record->restore(from->folder);
  PipelineShared shared(options, models, samples, monitor, record, observer, from ? from->steps : 0, ranks);
  {
    RoleThreads threads(shared);
    const WorkerPart& part = shared.plan.part();
    for (int d = part.firstDrafter; d < part.lastDrafter; ++d) {
      threads.start(workerName("drafter", d), options.drafters[d], [&, d] { DrafterWorker(shared, d, from).run(); });
    }
    for (int t = part.firstTarget; t < part.lastTarget; ++t) {
      threads.start(workerName("target", t), options.targets[t], [&, t] { TargetWorker(shared, t).run(); });
    }
  }
  if (ranks != nullptr && monitor.stopped()) ranks->abort(ranks->rank(), "the run was stopped");
  if (const std::exception_ptr error = monitor.error()) std::rethrow_exception(error);
  if (monitor.stopped()) throw RunStopped();
}

}  // namespace redraft::model
