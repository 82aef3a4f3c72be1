#pragma once
// A GPU's UUID as nvidia-smi and NVML print it: "GPU-13eae37f-8099-b03a-c45f-13729ad30e2f".

#include <cuda_runtime_api.h>

#include <cstdio>
#include <iterator>
#include <string>

namespace redraft::model {

inline std::string gpuUuid(const cudaDeviceProp& properties) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < std::size(properties.uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(properties.uuid.bytes[i])));
    text += digits;
  }
  return text;
}

}  // namespace redraft::model
