#include "harness/trace/trace_source.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace redraft::harness {
namespace {

constexpr std::uint64_t kMaxUnpackedBytes = std::uint64_t{64} << 30;
constexpr std::size_t kMaxEventBytes = std::size_t{64} << 20;
constexpr std::size_t kRoom = 64;  // that the parser may read beyond a document
constexpr std::string_view kHead = "{\"traceEvents\":[", kTail = "]}", kListHead = "[", kListTail = "]";

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// The last position behind a comma that stands between '}' and '{'; 0 when there is none.
std::size_t lastCutBySight(std::string_view text) {
  for (std::size_t at = text.size(); at > 0;) {
    const std::size_t brace = text.rfind('{', at - 1);
    if (brace == std::string_view::npos || brace == 0) return 0;
    std::size_t before = brace;
    while (before > 0 && isSpace(text[before - 1])) --before;
    if (before > 0 && text[before - 1] == ',') {
      const std::size_t cut = before--;
      while (before > 0 && isSpace(text[before - 1])) --before;
      if (before > 0 && text[before - 1] == '}') return cut;
    }
    at = brace;
  }
  return 0;
}

}  // namespace

ByteSource::ByteSource(std::string path) : path_(std::move(path)) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path_, failed))
    throwBadInput(path_, std::filesystem::exists(path_, failed) ? "not a regular file" : "no such file");
  gzFile file = gzopen(path_.c_str(), "rb");
  if (file == nullptr) throwBadInput(path_, std::string("cannot be opened: ") + std::strerror(errno));
  gzbuffer(file, 256u << 10);
  file_ = file;
}

ByteSource::~ByteSource() { gzclose_r(static_cast<gzFile>(file_)); }

std::size_t ByteSource::read(char* into, std::size_t bytes) {
  std::size_t done = 0;
  auto* file = static_cast<gzFile>(file_);
  while (done < bytes) {
    const auto want = static_cast<unsigned>(std::min<std::size_t>(bytes - done, 1u << 30));
    const int got = gzread(file, into + done, want);
    int code = Z_OK;
    const char* why = gzerror(file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throwBadInput(path_, "cannot be read beyond byte " + std::to_string(position_ + done) + " of its content: " + why,
                    "a packed file that was cut off or damaged: make it again");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  position_ += done;
  if (position_ > kMaxUnpackedBytes)
    throwBadInput(path_, "holds more than " + std::to_string(kMaxUnpackedBytes >> 30) + " GiB", "trace fewer steps");
  return done;
}

WindowCutter::WindowCutter(std::string path, Cutting cutting, std::size_t windowBytes)
    : source_(std::move(path)), cutting_(cutting), windowBytes_(windowBytes) {}

void WindowCutter::Scanner::outside(char c) {
  switch (c) {
    case '"':
      inString = true;
      if (depth == 1) key.clear();
      break;
    case '[':
      inEvents = inEvents || (isList ? depth == 0 : depth == 1 && key == "traceEvents");
      ++depth;
      break;
    case '{':
      ++depth;
      break;
    case ']':
    case '}':
      if (depth-- == (isList ? 1 : 2) && c == ']') inEvents = false;
      break;
    case ',':
      if (inEvents && afterObject && depth == (isList ? 1 : 2)) cut = offset + 1;
      break;
    default:
      break;
  }
  if (!isSpace(c)) afterObject = c == '}';
}

void WindowCutter::Scanner::scan(std::string_view text) {
  constexpr std::size_t kLongestKey = 32;
  for (const char c : text) {
    if (!inString) {
      outside(c);
    } else if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      inString = false;
    } else if (depth == 1 && key.size() < kLongestKey) {
      key += c;
    }
    ++offset;
  }
}

void WindowCutter::fill(EventWindow& window, std::size_t want) {
  window.buffer.resize(std::max(window.buffer.size(), window.prefix + want + kTail.size() + kRoom));
  const std::size_t have = window.size - window.prefix;
  const std::size_t got = source_.read(window.buffer.data() + window.size, want - have);
  const std::string_view added(window.buffer.data() + window.size, got);
  window.size += got;
  window.last = have + got < want;
  if (window.number == 0 && have == 0) {
    const auto first = std::find_if_not(added.begin(), added.end(), isSpace);
    if (first == added.end()) throwBadInput(source_.path(), "holds no JSON", "a Kineto trace is one JSON object");
    if (*first != '{' && *first != '[')
      throwBadInput(source_.path() + ": byte " + std::to_string(first - added.begin()),
                    "neither a JSON object nor a list begins here", "a Kineto trace is one JSON object");
    isList_ = scanner_.isList = *first == '[';
  }
  if (cutting_ == Cutting::kByParsing) scanner_.scan(added);
}

void WindowCutter::startWindow(EventWindow& window) {
  const std::string_view prefix = windows_ == 0 ? "" : isList_ ? kListHead : kHead;
  window.number = windows_++;
  window.offset = carryOffset_;
  window.last = false;
  window.prefix = prefix.size();
  window.size = prefix.size() + carry_.size();
  window.buffer.resize(std::max(window.buffer.size(), window.size + kTail.size() + kRoom));
  std::copy(prefix.begin(), prefix.end(), window.buffer.begin());
  std::copy(carry_.begin(), carry_.end(), window.buffer.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
}

std::size_t WindowCutter::findCut(const EventWindow& window) const {
  if (cutting_ == Cutting::kBySight) return lastCutBySight(window.text().substr(window.prefix));
  return scanner_.cut > window.offset ? static_cast<std::size_t>(scanner_.cut - window.offset) : 0;
}

void WindowCutter::finishWindow(EventWindow& window, std::size_t cut) {
  if (cut > 0) {
    carry_.assign(window.text().substr(window.prefix + cut));
    carryOffset_ = window.offset + cut;
    const std::string_view suffix = isList_ ? kListTail : kTail;
    window.size = window.prefix + cut - 1;  // without the comma
    std::copy(suffix.begin(), suffix.end(), window.buffer.begin() + static_cast<std::ptrdiff_t>(window.size));
    window.size += suffix.size();
  }
  std::fill_n(window.buffer.begin() + static_cast<std::ptrdiff_t>(window.size), kRoom, ' ');
}

bool WindowCutter::next(EventWindow& window) {
  if (ended_) return false;
  startWindow(window);
  for (std::size_t want = std::max(windowBytes_, carry_.size() + 1);; want *= 2) {
    fill(window, want);
    const std::size_t cut = window.last ? 0 : findCut(window);
    if (window.last || cut > 0) {
      ended_ = window.last;
      finishWindow(window, cut);
      return true;
    }
    if (want > kMaxEventBytes)
      throwBadInput(source_.path() + ": byte " + std::to_string(window.offset),
                    "no event ends within " + std::to_string(kMaxEventBytes >> 20) + " MiB", "is this a Kineto trace?");
  }
}

}  // namespace redraft::harness
