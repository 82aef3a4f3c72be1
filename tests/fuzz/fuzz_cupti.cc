#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/probe/cupti_records.h"
#include "tests/fuzz/byte_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace redraft;
  harness::StringTable strings;
  harness::RecordTexts texts;
  texts.strings = &strings;
  texts.kernel = [&](const char* name) {
    return strings.intern(std::to_string(reinterpret_cast<std::uintptr_t>(name)));
  };
  texts.call = [&](bool driver, std::uint32_t id) { return id % 2 == 0 ? 0 : strings.intern(driver ? "cu" : "cuda"); };
  harness::CorrelationCounter correlations;
  std::vector<harness::TraceRecord> records;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const harness::ParsedBuffer parsed = harness::parseActivityBuffer(bytes, texts, correlations, records);
  REDRAFT_CHECK(parsed.bytes <= size && records.size() <= parsed.records, "more was read than there is");
  REDRAFT_CHECK((parsed.bytes == size) == (!parsed.truncated && !parsed.unknownKind), "an unread rest is not told");
  for (const harness::TraceRecord& record : records)
    REDRAFT_CHECK(record.name < strings.size() && record.detail < strings.size(), "a text that is not there");
  return 0;
}
