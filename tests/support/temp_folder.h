#pragma once
// A folder of one test's own, removed with all it holds.

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace redraft::testing_support {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "redraft-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder at " + name);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code failed;  // what cannot be removed is left to the system's own cleaning of its temporary folder
    std::filesystem::remove_all(path_, failed);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace redraft::testing_support
