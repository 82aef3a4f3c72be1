#include <numeric>
#include <string>

#include "base/hash.h"
#include "harness/timing/time_split.h"
#include "harness/trace/binary_trace.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/may_refuse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace redraft;
  // The hash at the end is made right, or no change would come past it.
  constexpr std::size_t kDigestBytes = 32;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string content = bytes.substr(0, size < kDigestBytes ? 0 : size - kDigestBytes);
  fuzz::mayRefuse("fuzz.rdtrace", [&] {
    harness::Trace trace = harness::parseBinaryTrace(content + hashText(content), "fuzz.rdtrace");
    const std::string again = harness::binaryTraceBytes(trace);
    REDRAFT_CHECK(harness::binaryTraceBytes(harness::parseBinaryTrace(again, "again.rdtrace")) == again,
                  "a trace did not survive writing");
    for (harness::TraceFile& file : trace.files) file.path = "fuzz.rdtrace";
    if (trace.files.empty()) return;
    const harness::TimeSplit split = harness::splitTime(trace);
    for (const harness::DeviceSplit& device : split.devices)
      REDRAFT_CHECK(std::accumulate(device.parts.begin(), device.parts.end(), std::int64_t{0}) == device.wallNs,
                    "the parts of a step do not add up to it");
  });
  return 0;
}
