#pragma once
// What a shell command prints, for tests that hold our files to other tools.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace redraft::testing_support {

struct CommandOutput {
  int status = -1;   // of wait(); 0: it ended well
  std::string text;  // standard output and standard error
};

inline CommandOutput outputOf(const std::string& command) {
  CommandOutput output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output.text += buffer;
  output.status = ::pclose(pipe);
  return output;
}

/// A python that has a module: the one that `variable` names, else the first of python3 and the system's; "" for none.
inline std::string pythonWith(const std::string& module, const char* variable) {
  std::vector<std::string> candidates = {"python3", "/usr/bin/python3"};
  if (const char* named = std::getenv(variable); named != nullptr) candidates = {named};
  for (const std::string& python : candidates)
    if (outputOf(python + " -c 'import " + module + "'").status == 0) return python;
  return "";
}

}  // namespace redraft::testing_support
