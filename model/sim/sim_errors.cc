#include "model/sim/sim_errors.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function.h>

#include "devices/origin.h"
#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

/// "role drafter[0], step 3, phase backward, in MmBackward0": what is known of it.
std::string callerText() {
  const devices::Origin origin = devices::currentOrigin();
  std::string text = "role " + devices::roleName(origin.role);
  if (origin.step >= 0) text += ", step " + std::to_string(origin.step);
  if (origin.phase != devices::Phase::kNone) text += std::string(", phase ") + devices::phaseName(origin.phase);
  if (const auto node = torch::autograd::get_current_node()) text += ", in " + node->name();
  return text;
}

std::string named(const NamedDevice& tensor) { return deviceText(tensor.device) + " (" + tensor.argument + ")"; }

[[noreturn]] void refuse(const std::string& op, const std::string& message, const std::string& remedy) {
  TORCH_CHECK(false, op, ": ", message, "; ", callerText(), "\n  remedy: ", remedy);
}

}  // namespace

std::string deviceText(const c10::Device& device) {
  if (device.type() != kSim) return device.str();
  return device.has_index() ? "sim:" + std::to_string(device.index()) : "sim";
}

void throwMixedDevices(const std::string& op, const NamedDevice& first, const NamedDevice& second) {
  refuse(op,
         "tensors on " + named(first) + " and " + named(second) +
             ". Expected all tensors to be on the same device, but found at least two",
         "move " + second.argument + " to " + deviceText(first.device) +
             " before the call, or keep the tensor that it was made from there; CPU tensors may only be 0-dim operands "
             "of element-wise ops, or indices");
}

void throwNotCurrent(const std::string& op, const NamedDevice& tensor, int currentDevice) {
  refuse(op,
         "a tensor is on " + named(tensor) +
             ", but this thread's current device is sim:" + std::to_string(currentDevice) + " (strict = all-ops)",
         "put the code of this role under a device guard for " + deviceText(tensor.device));
}

void throwUnsupported(const std::string& op, const std::string& what, const std::string& remedy) {
  refuse(op, what, remedy);
}

void throwCopyRefused(devices::Status status, const c10::Device& from, const c10::Device& to, std::int64_t bytes) {
  std::string detail = "aten::copy_: " + std::to_string(bytes) + " bytes from " + deviceText(from) + " to " +
                       deviceText(to) + "; " + callerText();
  if (status == devices::Status::kPeerAccessUnsupported)
    detail += "; the topology has no copy edge " + deviceText(from) + " -> " + deviceText(to) +
              ". Add the edge to the topology, or send the tensor through the host";
  throw devices::DeviceError(status, "copy", from.type() == kSim ? from.index() : to.index(), devices::currentOrigin(),
                             detail);
}

}  // namespace redraft::model::sim
