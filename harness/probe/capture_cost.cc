#include "harness/probe/device_capture.h"

namespace redraft::harness {

std::string costText(const CaptureCost& cost) {
  const auto micros = [](std::int64_t nanos) { return std::to_string(nanos / 1000) + " us"; };
  return std::to_string(cost.records) + " records in " + std::to_string(cost.bytes) + " bytes; " +
         std::to_string(cost.callbacks) + " callbacks " + micros(cost.callbackNs) + ", " +
         std::to_string(cost.flushes) + " flushes " + micros(cost.flushNs) + ", " + std::to_string(cost.buffers) +
         " buffers parsed in " + micros(cost.parseNs) + "; " + std::to_string(cost.extraBuffers) +
         " buffers beyond the pool, " + std::to_string(cost.lostOrigins) + " roles lost, " +
         std::to_string(cost.nestedCalls) + " nested driver calls left out, " + std::to_string(cost.untracedCalls) +
         " calls not traced";
}

}  // namespace redraft::harness
