#include "devices/declarations.h"

#include <utility>

namespace redraft::devices {

std::uint32_t LogDeclarations::given(const StreamPlace& stream, std::int64_t bytes) {
  const std::uint32_t handOff = handOffs_.fetch_add(1, std::memory_order_relaxed) + 1;
  add(kHandOffGiven, handOff, stream, bytes);
  return handOff;
}

void LogDeclarations::taken(std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) {
  add(kHandOffTaken, handOff, stream, bytes);
}

void LogDeclarations::add(const char* end, std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) {
  LogRecord record = newLogRecord(CallKind::kHandOff);
  Context context;
  Stream named;
  if (driver_.primaryContext(stream.device, &context) != Status::kSuccess ||
      driver_.adoptStream(stream.native, &named) != Status::kSuccess)
    return;  // a poisoned process: the run is over, and its record says why
  record.name = end;
  record.object = handOff;
  record.device = stream.device;
  record.context = context.id;
  record.stream = named.id;
  record.bytes = bytes;
  driver_.log().add(std::move(record));
}

}  // namespace redraft::devices
