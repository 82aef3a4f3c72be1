#pragma once
// The files that CMake put into the program (cmake/RedraftEmbed.cmake).

#include <vector>

namespace redraft::model::gpu {

struct Embedded {
  const char* name;  // from the root of the project
  const char* text;
};
const std::vector<Embedded>& embeddedFiles();

}  // namespace redraft::model::gpu
