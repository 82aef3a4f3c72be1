// In libredraft_cuda_torch.so, which links nothing of this program.
#include "model/cuda/nccl_group.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <c10/core/DeviceGuard.h>

#include <cstdio>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "model/cuda/gpu_uuid.h"

namespace redraft::model {
namespace {

std::string gpuName(int device) {
  const cudaDeviceProp& found = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
  char digits[32];
  std::snprintf(digits, sizeof digits, " at %04x:%02x:%02x", static_cast<unsigned>(found.pciDomainID),
                static_cast<unsigned>(found.pciBusID), static_cast<unsigned>(found.pciDeviceID));
  return gpuUuid(found) + digits;
}

class C10dNcclGroup final : public NcclGroup {
 public:
  explicit C10dNcclGroup(const NcclPlace& place) : device_(at::kCUDA, static_cast<c10::DeviceIndex>(place.device)) {
    // Not CUDAGuard: inlined, it asks for the runtime's library at link time.
    const c10::DeviceGuard guard(device_);
    auto settings = c10d::ProcessGroupNCCL::Options::create();
    settings->timeout = place.timeout;
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", place.store),
                                                         place.rank, place.size, std::move(settings));
    group_->eagerConnectSingleDevice(device_);
  }

  void begin(at::Tensor& all, at::Tensor& own) override {
    const c10::DeviceGuard guard(device_);
    work_ = group_->_allgather_base(all, own);
  }
  bool done() override { return work_->isCompleted(); }
  void end() override {
    const c10::DeviceGuard guard(device_);
    work_->wait();
    work_.reset();
  }
  std::string flightRecorder() override {
    return c10d::dump_nccl_trace_json(/*includeCollectives=*/true, /*onlyActive=*/false);
  }
  void abort() override { group_->abort(); }
  void shutdown() override { group_->shutdown(); }

 private:
  const at::Device device_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  c10::intrusive_ptr<c10d::Work> work_;
};

NcclGroup* makeGroup(const NcclPlace& place) { return std::make_unique<C10dNcclGroup>(place).release(); }

}  // namespace
}  // namespace redraft::model

extern "C" __attribute__((visibility("default"))) redraft::model::NcclLibrary redraftNcclLibrary() {
  return {redraft::model::gpuName, redraft::model::makeGroup};
}
