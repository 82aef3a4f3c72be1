#pragma once
// Two classes of error. What the user or the environment did is an Error, with place and remedy. A broken invariant of
// our own is a failed REDRAFT_CHECK, which stays on in release builds and ends the process with a message.

#include <stdexcept>
#include <string>
#include <string_view>

namespace redraft {

enum class ErrorKind {
  kBadInput,     // a file, an option or a value that the user gave: exit 2
  kEnvironment,  // this machine lacks something, or refused it: exit 3
  kDevice,       // a device refused a call; see devices/driver.h
};

/// Where something went wrong: a file with a line, a JSON pointer, a tensor name, a role. Free text, may be empty.
/// what() is "PLACE: MESSAGE\n  remedy: REMEDY".
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string place, std::string message, std::string remedy = "");

  ErrorKind kind() const { return kind_; }
  const std::string& place() const { return place_; }
  const std::string& message() const { return message_; }
  const std::string& remedy() const { return remedy_; }

 private:
  ErrorKind kind_;
  std::string place_;
  std::string message_;
  std::string remedy_;
};

/// Shorthand for the commonest one.
[[noreturn]] void throwBadInput(std::string place, std::string message, std::string remedy = "");

[[noreturn]] void checkFailed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace redraft

#define REDRAFT_CHECK(condition, message)                                           \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::redraft::checkFailed(__FILE__, __LINE__, #condition, std::string(message)); \
  } while (false)
