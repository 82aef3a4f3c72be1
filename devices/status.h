#pragma once
// Driver status codes: the numbers and names of CUresult (CUDA Driver API, "Data types used by CUDA driver").

#include <string>

#include "base/error.h"
#include "devices/origin.h"

namespace redraft::devices {

enum class [[nodiscard]] Status : int;  // apart: clang-format 14 takes a brace behind an attribute for a value
enum class Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kPeerAccessUnsupported = 217,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kNotSupported = 801,
  kInvalidResourceConfiguration = 915,
};

const char* statusName(Status status);         // "CUDA_ERROR_INVALID_HANDLE"
const char* statusDescription(Status status);  // "invalid resource handle"

/// A refused driver call. what() holds code, name, call, device, role, step and phase.
class DeviceError : public Error {
 public:
  DeviceError(Status status, std::string call, int device, Origin origin, std::string detail);
  Status status() const { return status_; }
  const std::string& call() const { return call_; }
  int device() const { return device_; }
  const Origin& origin() const { return origin_; }

 private:
  Status status_;
  std::string call_;
  int device_;
  Origin origin_;
};

}  // namespace redraft::devices
