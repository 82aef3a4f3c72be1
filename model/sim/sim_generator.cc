#include "model/sim/sim_generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <vector>

#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

class SimGenerator final : public c10::GeneratorImpl {
 public:
  SimGenerator(int device, at::Generator engine)
      : GeneratorImpl(c10::Device(kSim, static_cast<c10::DeviceIndex>(device)),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        engine_(std::move(engine)) {}

  void set_current_seed(std::uint64_t seed) override { engine_.set_current_seed(seed); }
  void set_offset(std::uint64_t offset) override { engine_.set_offset(offset); }
  std::uint64_t get_offset() const override { return engine_.get_offset(); }
  std::uint64_t current_seed() const override { return engine_.current_seed(); }
  std::uint64_t seed() override { return const_cast<at::Generator&>(engine_).seed(); }
  void set_state(const c10::TensorImpl& state) override { engine_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return engine_.unsafeGetGeneratorImpl()->get_state();
  }

  const at::Generator& engine() const { return engine_; }

 private:
  GeneratorImpl* clone_impl() const override { return new SimGenerator(device().index(), engine_.clone()); }

  at::Generator engine_;
};

}  // namespace

at::Generator newGenerator(int device) {
  const int index = device < 0 ? currentDevice() : device;
  TORCH_CHECK(index < state().deviceCount, "sim: device ", index, " does not exist; there are ", state().deviceCount);
  return at::make_generator<SimGenerator>(index, at::detail::createCPUGenerator());
}

const at::Generator& defaultGenerator(int device) {
  static const auto* const generators = [] {
    auto* made = new std::vector<at::Generator>;
    for (int i = 0; i < state().deviceCount; ++i) made->push_back(newGenerator(i));
    return made;
  }();
  const int index = device < 0 ? currentDevice() : device;
  TORCH_CHECK(index < state().deviceCount, "sim: device ", index, " does not exist; there are ", state().deviceCount);
  return (*generators)[index];
}

const at::Generator& cpuGenerator(const at::Generator& sim) {
  return static_cast<const SimGenerator*>(sim.unsafeGetGeneratorImpl())->engine();
}

}  // namespace redraft::model::sim
