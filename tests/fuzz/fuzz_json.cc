#include <string>

#include "base/error.h"
#include "base/json.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/may_refuse.h"

namespace redraft {
namespace {

/// Reads one member as each type, so that every message is composed.
void readAsEverything(JsonReader& reader, const std::string& key) {
  const auto attempt = [](auto&& read) {
    try {
      read();
    } catch (const Error& error) {
      REDRAFT_CHECK(error.kind() == ErrorKind::kBadInput && !error.place().empty(), error.what());
    }
  };
  attempt([&] { reader.string(key); });
  attempt([&] { reader.integer(key, -5, 5); });
  attempt([&] { reader.number(key, -5, 5); });
  attempt([&] { reader.boolean(key, true); });
  attempt([&] { reader.integers(key, 0, 9); });
  attempt([&] { reader.strings(key); });
  attempt([&] { reader.object(key).finish(); });
  attempt([&] { reader.objects(key); });
  attempt([&] { reader.integer(key + "x", 0, 9); });
}

void readDocument(std::string_view text) {
  const JsonDocument document = JsonDocument::parse(text, "fuzz.json");
  const JsonDocument again = JsonDocument::parse(document.root().dump(), "fuzz.json");
  REDRAFT_CHECK(again.root() == document.root(), "a document did not survive writing");
  REDRAFT_CHECK(document.line("") >= 1 && document.line("/0/a/~1") >= 1, "a line is missing");
  JsonReader reader(document);
  constexpr std::size_t kMembers = 32;
  std::size_t read = 0;
  for (const auto& [key, value] : document.root().items()) {
    if (read++ < kMembers) readAsEverything(reader, key);
  }
  reader.finish();
}

}  // namespace
}  // namespace redraft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::fuzz::mayRefuse("fuzz.json:", [&] { redraft::readDocument({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
