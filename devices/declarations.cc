#include "devices/declarations.h"

#include <utility>

namespace redraft::devices {
namespace {

LogRecord endOf(std::uint32_t handOff, const char* end, std::int64_t bytes) {
  LogRecord record = newLogRecord(CallKind::kHandOff);
  record.name = end;
  record.object = handOff;
  record.bytes = bytes;
  return record;
}

}  // namespace

std::uint32_t LogDeclarations::given(const StreamPlace& stream, std::int64_t bytes) {
  const std::uint32_t handOff = handOffs_.fetch_add(1, std::memory_order_relaxed) + 1;
  add(endOf(handOff, kHandOffGiven, bytes), stream);
  return handOff;
}

void LogDeclarations::taken(std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) {
  add(endOf(handOff, kHandOffTaken, bytes), stream);
}

void LogDeclarations::owns(const StreamPlace& stream) { add(newLogRecord(CallKind::kOwnStream), stream); }

void LogDeclarations::add(LogRecord record, const StreamPlace& stream) {
  Context context;
  Stream named;
  if (driver_.primaryContext(stream.device, &context) != Status::kSuccess ||
      driver_.adoptStream(stream.native, &named) != Status::kSuccess)
    return;  // a poisoned process: the run is over, and its record says why
  record.device = stream.device;
  record.context = context.id;
  record.stream = named.id;
  driver_.log().add(std::move(record));
}

}  // namespace redraft::devices
