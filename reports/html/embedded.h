#pragma once
// The files that CMake put into the program (cmake/RedraftEmbed.cmake).

#include <vector>

namespace redraft::reports::html {

struct Embedded {
  const char* name;
  const char* text;
  const char* sha256;  // of the text, 64 hex digits
};
const std::vector<Embedded>& embeddedFiles();

}  // namespace redraft::reports::html
