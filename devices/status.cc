#include "devices/status.h"

#include <utility>

namespace redraft::devices {
namespace {

struct StatusText {
  Status status;
  const char* name;
  const char* description;
  const char* remedy;
};

constexpr StatusText kTexts[] = {
    {Status::kSuccess, "CUDA_SUCCESS", "no error", ""},
    {Status::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument",
     "check pointers, sizes and the launch shape"},
    {Status::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory",
     "use a smaller batch or sequence, or look in the driver log for allocations of other roles on this device"},
    {Status::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "driver not initialized", "initialise the driver first"},
    {Status::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no device is available", "run on the sim backend"},
    {Status::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal",
     "name a device below the topology's device count"},
    {Status::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid", "compile the artefact again"},
    {Status::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no valid context is current on this thread",
     "set the device on this thread before the call; threads do not inherit it"},
    {Status::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for this device",
     "compile the artefact for this backend and architecture"},
    {Status::kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these devices",
     "add the edge to the topology, or copy by way of a device that has it"},
    {Status::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle",
     "use functions, streams and events in the context that made them: key cached handles by device, and pass the "
     "device at "
     "every call"},
    {Status::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found", "check the entry's name against the image"},
    {Status::kNotReady, "CUDA_ERROR_NOT_READY", "work is still pending", "synchronise first"},
    {Status::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered",
     "the process is lost: find the launch whose log record names memory of another device, and move that tensor"},
    {Status::kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled",
     "enable it once"},
    {Status::kPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled",
     "enable it before disabling it"},
    {Status::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context has been destroyed",
     "drop what was made in a context before destroying it"},
    {Status::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported",
     "run on a GPU and driver that have it"},
    {Status::kInvalidResourceConfiguration, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
     "invalid resource configuration", "share the device's multiprocessors out to fewer green contexts"},
};

const StatusText* find(Status status) {
  for (const StatusText& text : kTexts) {
    if (text.status == status) return &text;
  }
  return nullptr;
}

std::string placeOf(const Origin& origin) {
  std::string text = origin.role == 0 ? "no role" : roleName(origin.role);
  if (origin.step >= 0) text += ", step " + std::to_string(origin.step);
  if (origin.phase != Phase::kNone) text += std::string(", phase ") + phaseName(origin.phase);
  return text;
}

std::string messageOf(Status status, const std::string& call, int device, std::string detail) {
  std::string text = call;
  if (device >= 0) text += " on device " + std::to_string(device);
  text += " returned " + std::to_string(static_cast<int>(status)) + " " + statusName(status) + " (" +
          statusDescription(status) + ")";
  if (detail.empty()) return text;
  detail.insert(0, text + ": ");
  return detail;
}

std::string remedyOf(Status status) {
  const StatusText* text = find(status);
  return text ? text->remedy : "";
}

}  // namespace

const char* statusName(Status status) {
  const StatusText* text = find(status);
  return text ? text->name : "CUDA_ERROR_UNKNOWN";
}

const char* statusDescription(Status status) {
  const StatusText* text = find(status);
  return text ? text->description : "unknown error";
}

DeviceError::DeviceError(Status status, std::string call, int device, Origin origin, std::string detail)
    : Error(ErrorKind::kDevice, placeOf(origin), messageOf(status, call, device, std::move(detail)), remedyOf(status)),
      status_(status),
      call_(std::move(call)),
      device_(device),
      origin_(origin) {}

}  // namespace redraft::devices
