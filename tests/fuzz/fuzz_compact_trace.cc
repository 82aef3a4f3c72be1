#include <string>

#include "base/hash.h"
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
    const harness::Trace trace = harness::parseBinaryTrace(content + hashText(content), "fuzz.rdtrace");
    const std::string again = harness::binaryTraceBytes(trace);
    REDRAFT_CHECK(harness::binaryTraceBytes(harness::parseBinaryTrace(again, "again.rdtrace")) == again,
                  "a trace did not survive writing");
  });
  return 0;
}
