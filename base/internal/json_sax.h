#pragma once
// Event-wise JSON for the .cc files of base: the parser under JsonDocument and under the safetensors header.

#include <iterator>
#include <string>
#include <string_view>

#include "base/json.h"

namespace redraft::internal {

/// Handles the events of one parse. Every error goes through fail(), which throws Error(kBadInput).
class JsonSax : public nlohmann::json_sax<Json> {
 public:
  /// `text` must outlive the parse.
  explicit JsonSax(std::string_view text) : text_(text), position_(text.data()), counted_(text.data()) {}

  void parse(bool ignoreComments);
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override;

 protected:
  virtual std::string errorPlace() = 0;
  [[noreturn]] void fail(const std::string& message, const std::string& remedy);
  /// 1-based line of the event in hand.
  int currentLine();

 private:
  /// Tells how far the lexer has read.
  struct Cursor {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    reference operator*() const { return *at; }
    Cursor& operator++() {
      *position = ++at;
      return *this;
    }
    bool operator==(const Cursor& other) const { return at == other.at; }
    bool operator!=(const Cursor& other) const { return at != other.at; }

    const char* at;
    const char** position;
  };

  std::string_view text_;
  const char* position_;
  const char* counted_;
  int line_ = 1;
};

}  // namespace redraft::internal
