#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/internal/json_sax.h"
#include "base/text.h"

namespace redraft {
namespace {

constexpr std::size_t kDeepest = 64;

/// Builds the document and notes the line of every value.
class DocumentBuilder : public internal::JsonSax {
 public:
  DocumentBuilder(std::string_view text, const std::string& name) : JsonSax(text), name_(name) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::value_t::object); }
  bool start_array(std::size_t) override { return open(Json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    if (!open_.back().insert(key)) fail("duplicate key \"" + printable(key) + "\"", "keep one of them");
    key_ = std::move(key);
    return true;
  }

  Json root;
  std::vector<int> lines;

 protected:
  std::string errorPlace() override { return name_ + ":" + std::to_string(currentLine()); }

 private:
  /// An object or array that has not ended. A large object gets an index of its keys: looking through them all for each
  /// new one would let a hostile file take quadratic time.
  struct Open {
    Json* value;
    std::unordered_set<std::string> index;

    bool insert(const std::string& key) {
      constexpr std::size_t kSmall = 16;
      const auto& members = value->get_ref<const Json::object_t&>();
      if (members.size() < kSmall) {
        return std::none_of(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
      }
      if (index.empty()) {
        for (const auto& member : members) index.insert(member.first);
      }
      return index.insert(key).second;
    }
  };

  template <typename Value>
  bool add(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }

  Json* place(Json&& value) {
    lines.push_back(currentLine());
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    // emplace_back of the underlying vector: the map's own emplace looks for the key again.
    return &parent.get_ref<Json::object_t&>().emplace_back(std::move(key_), std::move(value)).second;
  }

  bool open(Json::value_t type) {
    if (open_.size() == kDeepest) fail("nested deeper than " + std::to_string(kDeepest), "flatten the document");
    Json* value = place(Json(type));
    open_.push_back({value, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string name_;
  std::string key_;
  std::vector<Open> open_;
};

std::size_t countValues(const Json& value) {
  std::size_t count = 1;
  if (value.is_structured()) {
    for (const Json& child : value) count += countValues(child);
  }
  return count;
}

}  // namespace

namespace internal {

int JsonSax::currentLine() {
  // A value never ends in a newline and a number was read one character too far: the last character does not count.
  const char* end = position_ == text_.data() ? position_ : position_ - 1;
  if (end > counted_) {
    line_ += static_cast<int>(std::count(counted_, end, '\n'));
    counted_ = end;
  }
  return line_;
}

void JsonSax::fail(const std::string& message, const std::string& remedy) {
  throwBadInput(errorPlace(), message, remedy);
}

bool JsonSax::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: MESSAGE", or "[…] MESSAGE".
  std::string_view message = error.what();
  if (const auto end = message.find("] "); end != std::string_view::npos) message.remove_prefix(end + 2);
  const bool hasPlace = message.rfind("parse error at line ", 0) == 0;
  if (const auto end = message.find(": "); hasPlace && end != std::string_view::npos) message.remove_prefix(end + 2);
  // nlohmann/json 3.11.3 has words of its own for a text of no bytes.
  constexpr std::array<std::string_view, 3> kEarly = {"unexpected end of input", "missing closing quote",
                                                      "empty input"};
  const bool early = std::any_of(kEarly.begin(), kEarly.end(),
                                 [&](std::string_view words) { return message.find(words) != std::string_view::npos; });
  fail((early ? "the JSON ends early: " : "not JSON: ") + printable(message),
       early ? "is the file complete?" : "correct the syntax here");
}

void JsonSax::parse(bool ignoreComments) {
  // The lexer takes a NUL for the end of its input.
  if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
    position_ = text_.data() + nul + 1;
    fail("not JSON: a NUL byte", "is this a text file?");
  }
  const Cursor begin{text_.data(), &position_}, end{text_.data() + text_.size(), &position_};
  Json::sax_parse(begin, end, this, nlohmann::detail::input_format_t::json, true, ignoreComments);
}

}  // namespace internal

JsonDocument JsonDocument::parse(std::string_view text, std::string name, Comments comments) {
  DocumentBuilder builder(text, name);
  builder.parse(comments == Comments::kAllow);
  JsonDocument document;
  document.name_ = std::move(name);
  document.root_ = std::make_shared<const Json>(std::move(builder.root));
  document.lines_ = std::make_shared<const std::vector<int>>(std::move(builder.lines));
  return document;
}

JsonDocument JsonDocument::load(const std::string& path, Comments comments, std::size_t maxBytes) {
  return parse(readFile(path, maxBytes), path, comments);
}

int JsonDocument::line(const std::string& pointer) const {
  const Json* value = root_.get();
  std::size_t index = 0;
  const std::vector<std::string> tokens = split(pointer, '/');  // the first is what stands before the first slash
  for (std::size_t i = 1; i < tokens.size() && value->is_structured(); ++i) {
    std::size_t next = index + 1;
    const Json* found = nullptr;
    for (const auto& [key, child] : value->items()) {
      if ((value->is_object() ? escapePointer(key) : key) == tokens[i]) {
        found = &child;
        break;
      }
      next += countValues(child);
    }
    if (found == nullptr) break;
    value = found;
    index = next;
  }
  return lines_->at(index);
}

std::string escapePointer(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

}  // namespace redraft
