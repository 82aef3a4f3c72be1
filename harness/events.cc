#include "harness/events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace redraft::harness {

namespace {

constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
constexpr std::size_t kPollBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxBehindBytes = std::size_t{64} << 20;
constexpr const char* kTypeKey = "type";

template <class Body>
bool readBody(const std::string& type, const Json& json, const std::string& place, EventBody& body) {
  if (type != Body::kType) return false;
  body = recordFromJson<Body>(json, place);
  return true;
}

template <class... Bodies>
bool readAnyBody(const std::string& type, const Json& json, const std::string& place, std::variant<Bodies...>& body) {
  return (readBody<Bodies>(type, json, place, body) || ...);
}

/// Head and body share one object in the file. This visitor notes the head's keys; what is left is the body's.
struct KeyCollector {
  std::vector<std::string> keys;
  template <class T>
  void operator()(const char* key, T&) {
    keys.emplace_back(key);
  }
  template <class T, class Default>
  void unless(const char* key, T&, const Default&) {
    keys.emplace_back(key);
  }
};

const std::vector<std::string>& headKeys() {
  static const std::vector<std::string> keys = [] {
    EventHead head;
    KeyCollector collector;
    head.fields(collector);
    return collector.keys;
  }();
  return keys;
}

}  // namespace

const char* eventType(const EventBody& body) {
  return std::visit([](const auto& each) { return std::decay_t<decltype(each)>::kType; }, body);
}

std::string eventLine(const Event& event) {
  Json json = recordToJson(event.head);
  json[kTypeKey] = eventType(event.body);
  json.update(std::visit([](const auto& each) { return recordToJson(each); }, event.body));
  return oneLine(json);
}

Event parseEventLine(std::string_view line, const std::string& place) {
  Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object()) throwBadInput(place, "not a JSON object");
  Json head = Json::object(), body = Json::object();
  std::string type;
  for (auto& [key, value] : json.items()) {
    if (key == kTypeKey)
      type = value.is_string() ? value.get<std::string>() : "";
    else if (std::find(headKeys().begin(), headKeys().end(), key) != headKeys().end())
      head[key] = std::move(value);
    else
      body[key] = std::move(value);
  }
  Event event;
  event.head = recordFromJson<EventHead>(head, place);
  if (!readAnyBody(type, body, place, event.body)) throwBadInput(place, "no such event type: \"" + type + "\"");
  return event;
}

EventWriter::EventWriter(const std::string& path) : lines_(path) {}

void EventWriter::write(EventHead head, EventBody body) {
  head.thread = ::syscall(SYS_gettid);
  const std::lock_guard lock(mutex_);
  head.seq = next_;
  head.nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  if (broken_) std::rethrow_exception(broken_);
  try {
    lines_.append(eventLine({std::move(head), std::move(body)}));
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  ++next_;
}

std::int64_t EventWriter::count() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

EventReader::EventReader(std::string path) : path_(std::move(path)) {}

EventReader::~EventReader() {
  if (fd_ >= 0) ::close(fd_);
}

void EventReader::accept(std::string_view line) {
  if (!log_.problem.empty()) return;
  const auto number = static_cast<std::int64_t>(log_.events.size());
  const std::string place = path_ + ":" + std::to_string(number + 1);
  try {
    Event event = parseEventLine(line, place);
    if (event.head.seq != number)
      throwBadInput(place, "event " + std::to_string(event.head.seq) + " where " + std::to_string(number) + " belongs");
    const RunBegin* begin = event.as<RunBegin>();
    if ((begin != nullptr) != (number == 0)) throwBadInput(place, "run.begin belongs at the start, and only there");
    if (begin != nullptr && begin->schema != kEventsSchema)
      throwBadInput(place, "the schema \"" + begin->schema + "\" is not known",
                    std::string("expected ") + kEventsSchema);
    if (number > 0 && log_.events.back().as<RunEnd>() != nullptr) throwBadInput(place, "an event after run.end");
    log_.events.push_back(std::move(event));
  } catch (const Error& error) {
    log_.problem = error.what();
  }
}

bool EventReader::readSome(std::size_t most) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0 || !log_.problem.empty()) return false;
  const std::size_t held = rest_.size();
  rest_.resize(held + most);
  ssize_t got = -1;
  do got = ::read(fd_, rest_.data() + held, most);
  while (got < 0 && errno == EINTR);
  if (got < 0) log_.problem = path_ + ": " + std::strerror(errno);
  rest_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got <= 0) return false;
  bytes_ += static_cast<std::size_t>(got);
  acceptLines();
  if (bytes_ > kMaxLogBytes) log_.problem = path_ + ": larger than 1 GiB";
  if (rest_.size() > kMaxLineBytes) log_.problem = path_ + ": a line longer than 1 MiB";
  return log_.problem.empty();
}

void EventReader::acceptLines() {
  std::size_t start = 0;
  for (std::size_t end; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1)
    accept(std::string_view(rest_).substr(start, end - start));
  rest_.erase(0, start);
}

bool EventReader::poll() {
  if (!readSome(kPollBytes)) return false;
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return false;
  const std::size_t size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  const std::size_t behind = size - std::min(size, bytes_);
  if (behind > kMaxBehindBytes) log_.problem = path_ + ": grows faster than it can be read (64 MiB behind)";
  return behind > 0 && log_.problem.empty();
}

EventLog EventReader::finish() {
  while (readSome(kPollBytes)) {
  }
  if (log_.problem.empty() && !rest_.empty())
    log_.problem = path_ + ":" + std::to_string(log_.events.size() + 1) + ": the last line is torn";
  return std::move(log_);
}

EventLog readEvents(const std::string& path) {
  EventReader reader(path);
  return reader.finish();
}

}  // namespace redraft::harness
