#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace redraft {
namespace {

std::string describe(const std::string& place, const std::string& message, const std::string& remedy) {
  std::string text = place;
  if (!place.empty()) text += ": ";
  text += message;
  if (!remedy.empty()) text += "\n  remedy: " + remedy;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string place, std::string message, std::string remedy)
    : std::runtime_error(describe(place, message, remedy)),
      kind_(kind),
      place_(std::move(place)),
      message_(std::move(message)),
      remedy_(std::move(remedy)) {}

void throwBadInput(std::string place, std::string message, std::string remedy) {
  throw Error(ErrorKind::kBadInput, std::move(place), std::move(message), std::move(remedy));
}

void checkFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\n", file, line, condition, static_cast<int>(message.size()),
               message.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace redraft
