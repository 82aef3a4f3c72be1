#include "harness/trace/kineto_window.h"

// Without it simdjson tests, at every bracket, what it may assume.
#ifndef NDEBUG
#define NDEBUG
#endif
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "harness/trace/decimal.h"
#include "harness/trace/kineto_capture.h"
#include "harness/trace/kineto_keys.h"
#include "harness/trace/launch_shape.h"

namespace redraft::harness {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::simdjson_error;

/// A value as it stands in the file, without the white space behind it.
std::string_view tokenOf(simdjson::simdjson_result<ondemand::value> value) {
  std::string_view token = value.value().raw_json_token();
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

/// What stands between the quotes; nothing when the token is no string.
std::optional<std::string_view> quoted(std::string_view token) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return std::nullopt;
  return token.substr(1, token.size() - 2);
}

/// The key of a field up to its first escape: no key that is looked for has one.
std::string_view keyOf(ondemand::raw_json_string key) {
  const char* end = key.raw();
  while (*end != '"' && *end != '\\') ++end;  // the parser has seen that strings are closed
  return {key.raw(), static_cast<std::size_t>(end - key.raw())};
}

/// Which member of a record a key of `args` fills.
class ArgumentTable {
 public:
  struct Entry {
    std::string_view key;
    std::function<void(TraceRecord&, std::int64_t)> setNumber;  // empty: a text
    StringId TraceRecord::*text = nullptr;
  };

  ArgumentTable() {
    const auto number = [this]<class Value>(std::string_view key, Value TraceRecord::*member) {
      add({key,
           [member](TraceRecord& record, std::int64_t value) {
             if (std::in_range<Value>(value)) record.*member = static_cast<Value>(value);
           },
           nullptr});
    };
    kineto::visitNumbers(number);
    kineto::visitOtherNumbers(number);
    kineto::visitTexts([this](std::string_view key, StringId TraceRecord::*member) { add({key, nullptr, member}); });
  }

  const Entry* find(std::string_view key) const {
    if (key.empty()) return nullptr;
    for (const Entry& entry : slots_[slotOf(key)])
      if (entry.key == key) return &entry;
    return nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static std::size_t slotOf(std::string_view key) {
    return (key.size() * 7 + static_cast<unsigned char>(key.front()) + 3u * static_cast<unsigned char>(key.back())) %
           kSlots;
  }
  void add(Entry entry) { slots_[slotOf(entry.key)].push_back(std::move(entry)); }

  std::array<std::vector<Entry>, kSlots> slots_;
};

std::optional<RecordKind> kindOfCategory(std::string_view category) {
  for (const auto& [name, kind] : kineto::kCategories)
    if (name == category) return kind;
  return std::nullopt;
}

/// One event, while its fields are read in whatever order they come.
struct RawEvent {
  std::string_view phase, category, name;  // between the quotes
  bool skipped = false;                    // what is known so far makes it none
  std::optional<std::string_view> argumentName;
  std::string_view argumentKind;
  std::string_view grid, block;  // lists, as they stand in the file
};

}  // namespace

class KinetoWindowParser::Impl {
 public:
  ParsedWindow parse(const EventWindow& window, bool isList);
  const StringTable& strings() const { return strings_; }

 private:
  void readRoot(ondemand::document& document, const EventWindow& window);
  void readEvents(ondemand::array events);
  void readEvent(ondemand::object event);
  void readField(std::string_view key, simdjson::simdjson_result<ondemand::value> value, RawEvent& event);
  TraceRecord& record();
  void readArguments(simdjson::simdjson_result<ondemand::value> value, RawEvent& event);
  void keep(RawEvent& event);
  void keepMetadata(RawEvent& event);
  StringId intern(std::string_view raw);
  [[noreturn]] void fail(const EventWindow& window, ondemand::document& document, const std::string& why) const;

  const ArgumentTable arguments_;
  ondemand::parser parser_;
  StringTable strings_;
  std::unordered_map<std::string, StringId> escaped_;  // texts by what they are in the file
  ParsedWindow result_;
  TraceRecord record_;         // of the event that is being read
  bool recordIsBlank_ = true;  // most events are skipped before anything of them is kept
  std::uint64_t events_ = 0;
  const EventWindow* window_ = nullptr;
};

TraceRecord& KinetoWindowParser::Impl::record() {
  recordIsBlank_ = false;
  return record_;
}

StringId KinetoWindowParser::Impl::intern(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return strings_.intern(raw);
  std::string key(raw);
  const auto found = escaped_.find(key);
  if (found != escaped_.end()) return found->second;
  const Json text = Json::parse("\"" + key + "\"", nullptr, false);
  if (!text.is_string()) throw simdjson_error(simdjson::STRING_ERROR);
  const StringId id = strings_.intern(text.get_ref<const std::string&>());
  escaped_.emplace(std::move(key), id);
  return id;
}

void KinetoWindowParser::Impl::readArguments(simdjson::simdjson_result<ondemand::value> value, RawEvent& event) {
  ondemand::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return;
  for (auto field : arguments) {
    const std::string_view key = keyOf(field.key());
    if (event.phase == "M" && (key == "name" || key == "kind")) {
      const auto text = quoted(tokenOf(field.value()));
      if (key == "name") event.argumentName = text;
      if (key == "kind") event.argumentKind = text.value_or("");
      continue;
    }
    if (key == kineto::kGrid || key == kineto::kBlock) {
      ondemand::array list;
      if (field.value().get_array().get(list) == simdjson::SUCCESS)
        (key == kineto::kGrid ? event.grid : event.block) = list.raw_json().value();
      continue;
    }
    const ArgumentTable::Entry* entry = arguments_.find(key);
    if (entry == nullptr) continue;
    const std::string_view token = tokenOf(field.value());
    if (entry->setNumber) {
      if (const auto number = parseInteger(token)) entry->setNumber(record_, *number);
    } else if (const auto text = quoted(token)) {
      record_.*entry->text = intern(*text);
    }
  }
}

void KinetoWindowParser::Impl::readField(std::string_view key, simdjson::simdjson_result<ondemand::value> value,
                                         RawEvent& event) {
  if (key == "ph") {
    event.phase = quoted(tokenOf(value)).value_or("");
    if (event.phase != "X" && event.phase != "M" && event.phase != "i") event.skipped = true;
  } else if (key == "cat") {
    event.category = quoted(tokenOf(value)).value_or("");
    const auto kind = kindOfCategory(event.category);
    event.skipped = event.skipped || !kind;
    if (kind) record().kind = *kind;
  } else if (key == "name") {
    event.name = quoted(tokenOf(value)).value_or("");
  } else if (key == "ts" || key == "dur") {
    const auto nanos = parseMicroseconds(tokenOf(value));
    if (!nanos) throw simdjson_error(simdjson::NUMBER_ERROR);
    (key == "ts" ? record().startNs : record().durationNs) = *nanos;
  } else if (key == "tid") {
    if (record().thread < 0) record_.thread = parseInteger(tokenOf(value)).value_or(-1);
  } else if (key == "args") {
    record();
    readArguments(value, event);
  }
}

void KinetoWindowParser::Impl::keepMetadata(RawEvent& event) {
  if (event.name == "thread_name" && event.argumentName && record_.thread >= 0)
    result_.head.threadNames[record_.thread] = strings_.text(intern(*event.argumentName));
  const auto kind = recordKindFromName(event.argumentKind);
  if (event.name != kineto::kRecordEvent || !kind) return;
  record_.kind = *kind;
  record_.name = intern(event.argumentName.value_or(""));
  result_.records.push_back(record_);
}

void KinetoWindowParser::Impl::keep(RawEvent& event) {
  TraceRecord& record = record_;
  if (event.phase == "M") return keepMetadata(event);
  if (event.category.empty()) return;
  if (record.kind == RecordKind::kAllocation && event.name != kineto::kMemoryEvent) return;
  record.name = intern(event.name);
  const std::string_view name = event.name;
  if (record.kind == RecordKind::kCopy) {
    if (record.fromDevice >= 0 || name.starts_with("Memcpy PtoP")) record.kind = RecordKind::kPeerCopy;
    if (name.find("Pageable") != std::string_view::npos) record.flags |= kPageable;
  }
  if (event.category == "cuda_driver") record.flags |= kDriverApi;
  if (record.kind == RecordKind::kKernel && !event.grid.empty())
    record.shape = strings_.intern(shapeOfLists(event.grid, event.block));
  if (isDeviceWork(record.kind)) record.thread = -1;  // their "tid" is the stream
  result_.records.push_back(record);
}

void KinetoWindowParser::Impl::readEvent(ondemand::object object) {
  RawEvent event;
  const auto number = static_cast<std::uint32_t>(events_++);
  if (!recordIsBlank_) record_ = TraceRecord();
  recordIsBlank_ = true;
  const char* begin = nullptr;
  for (auto field : object) {
    const ondemand::raw_json_string key = field.key();
    if (begin == nullptr) begin = key.raw();
    readField(keyOf(key), field.value(), event);
    if (event.skipped) return;
  }
  if (begin == nullptr) return;
  record().index = number;
  record_.place = window_->offset + static_cast<std::uint64_t>(begin - window_->buffer.data()) - window_->prefix;
  keep(event);
}

void KinetoWindowParser::Impl::readEvents(ondemand::array events) {
  for (auto event : events) readEvent(event.get_object());
}

void KinetoWindowParser::Impl::readRoot(ondemand::document& document, const EventWindow& window) {
  bool sawEvents = false, eventsLast = false;
  for (auto field : document.get_object()) {
    const std::string key(keyOf(field.key()));
    eventsLast = key == "traceEvents";
    if (eventsLast) {
      if (std::exchange(sawEvents, true)) throw simdjson_error(simdjson::INCORRECT_TYPE);
      readEvents(field.value().get_array());
    } else if (isKinetoHeadKey(key)) {
      const std::string_view json = simdjson::to_json_string(field.value().value());
      readKinetoKey(key, json, "/" + key, result_.head);
    }
  }
  // Without this, a list that was cut elsewhere than between events would pass for one that was not.
  if (!window.last && !eventsLast) throw simdjson_error(simdjson::INCORRECT_TYPE);
  if (window.number == 0 && !sawEvents) throw simdjson_error(simdjson::NO_SUCH_FIELD);
}

void KinetoWindowParser::Impl::fail(const EventWindow& window, ondemand::document& document,
                                    const std::string& why) const {
  const char* at = nullptr;
  if (document.current_location().get(at) != simdjson::SUCCESS || at < window.buffer.data() ||
      at > window.buffer.data() + window.size)
    at = window.buffer.data() + window.size;
  const auto inDocument = static_cast<std::uint64_t>(at - window.buffer.data());
  throw WindowError{window.offset + std::max<std::uint64_t>(inDocument, window.prefix) - window.prefix, events_, why};
}

ParsedWindow KinetoWindowParser::Impl::parse(const EventWindow& window, bool isList) {
  result_ = ParsedWindow();
  events_ = 0;
  window_ = &window;
  ondemand::document document;
  const simdjson::error_code begun =
      parser_.iterate(window.buffer.data(), window.size, window.buffer.size()).get(document);
  if (begun != simdjson::SUCCESS) throw WindowError{window.offset, 0, simdjson::error_message(begun)};
  try {
    if (isList) {
      readEvents(document.get_array());
    } else {
      readRoot(document, window);
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
      fail(window, document, "more follows behind the end of the trace");
  } catch (const simdjson_error& error) {
    fail(window, document, error.what());
  } catch (const Error& error) {
    throw WindowError{window.offset, events_, error.place() + ": " + error.message()};
  }
  result_.head.events = events_;
  return std::move(result_);
}

KinetoWindowParser::KinetoWindowParser() : impl_(std::make_unique<Impl>()) {}
KinetoWindowParser::~KinetoWindowParser() = default;

ParsedWindow KinetoWindowParser::parse(const EventWindow& window, bool isList) { return impl_->parse(window, isList); }

const StringTable& KinetoWindowParser::strings() const { return impl_->strings(); }

}  // namespace redraft::harness
