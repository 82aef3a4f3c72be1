#include "model/pipeline/nccl_collective.h"

#include <ATen/ops/empty.h>

#include <cstdlib>
#include <map>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "model/instrument.h"
#include "model/pipeline/store_collective.h"

namespace redraft::model {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kCommunicator = "drafters";
constexpr std::chrono::milliseconds kSpin{2};  // a gather over NVLink is over by then
constexpr std::chrono::microseconds kLook{100};
constexpr std::chrono::seconds kWatchdogAfter{60};  // torch's own has the last word

}  // namespace

void checkGpusDiffer(const std::vector<std::string>& gpuOfRank) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < gpuOfRank.size(); ++rank) {
    const auto [found, added] = first.emplace(gpuOfRank[rank], rank);
    if (added) continue;
    throw Error(ErrorKind::kEnvironment, "ranks " + std::to_string(found->second) + " and " + std::to_string(rank),
                "both have " + gpuOfRank[rank] + ", and NCCL takes no GPU twice",
                "give every process a GPU of its own (topology.roles.drafter, CUDA_VISIBLE_DEVICES), or run in one "
                "process, where drafters may share one");
  }
}

void setNcclEnvironment(const std::string& folder) {
  constexpr int kKeep = 0;
  const std::string dumps = joinPath(folder, "nccl_flight_recorder_rank_");
  ::setenv("TORCH_FR_BUFFER_SIZE", "2000", kKeep);
  ::setenv("TORCH_FR_DUMP_TEMP_FILE", dumps.c_str(), kKeep);
  ::setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "1", kKeep);
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", kKeep);
  // A gather gains nothing from multicast objects, and hangs where the fabric manager does not serve them.
  ::setenv("NCCL_NVLS_ENABLE", "0", kKeep);
}

NcclCollective::NcclCollective(RunMonitor& monitor, std::unique_ptr<Collective> control, const NcclLibrary& nccl,
                               const NcclOptions& options)
    : monitor_(monitor), control_(std::move(control)), options_(options) {
  const std::string gpu = nccl.gpuName(options.device) + " of " + options.host;
  const std::vector<std::string> gpus = control_->allGather(gpu, "the GPUs' names");
  checkGpusDiffer(gpus);
  group_.reset(nccl.makeGroup({options.store, rank(), size(), options.device, monitor.timeout() + kWatchdogAfter}));
  control_->barrier("the communicators");
  if (devices::Declarations* const seen = instrument().declarations())
    seen->joined({kCommunicator, rank(), options.device, gpus});
}

NcclCollective::~NcclCollective() {
  if (!group_) return;
  try {
    failed_ ? group_->abort() : group_->shutdown();
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, std::string("NCCL did not end well: ") + error.what());
  }
}

at::Tensor NcclCollective::allGather(const at::Tensor& values, const std::string& what) {
  REDRAFT_CHECK(values.scalar_type() == at::kFloat && values.dim() == 1 && values.is_contiguous(),
                "float32 vectors are gathered");
  at::Tensor own = values;
  at::Tensor all = at::empty({size(), values.numel()}, values.options());
  at::Tensor flat = all.view(-1);
  try {
    control_->barrier(what);
    begin(flat, own, what);
    waitFor(what);
    group_->end();
  } catch (...) {
    giveUp();
    throw;
  }
  return all;
}

std::vector<std::string> NcclCollective::allGather(const std::string& bytes, const std::string& what) {
  return control_->allGather(bytes, what);
}

void NcclCollective::begin(at::Tensor& all, at::Tensor& own, const std::string& what) {
  const Clock::time_point began = Clock::now();
  group_->begin(all, own);
  if (devices::Declarations* const seen = instrument().declarations())
    seen->issued({kCommunicator, what, static_cast<std::int64_t>(all.nbytes()),
                  std::chrono::nanoseconds(began.time_since_epoch()).count()});
}

void NcclCollective::waitFor(const std::string& what) const {
  const Clock::time_point start = Clock::now();
  while (!group_->done()) {
    const auto waited = Clock::now() - start;
    if (waited < kSpin) continue;
    monitor_.checkpoint();
    if (waited >= rankTimeout(monitor_))
      throw Error(ErrorKind::kEnvironment, "NCCL, rank " + std::to_string(rank()),
                  what + " did not come within " + std::to_string(rankTimeout(monitor_).count()) +
                      " ms, though every rank had come",
                  "see " + joinPath(options_.folder, kFlightRecorderFile) + "; NCCL_DEBUG=INFO says more");
    std::this_thread::sleep_for(kLook);
  }
}

void NcclCollective::giveUp() noexcept {
  failed_ = true;
  try {
    writeFileAtomically(joinPath(options_.folder, kFlightRecorderFile), group_->flightRecorder());
    group_->abort();
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, std::string("NCCL could not be given up cleanly: ") + error.what());
  }
}

void NcclCollective::abort(int origin, const std::string& why) noexcept { control_->abort(origin, why); }

}  // namespace redraft::model
