#pragma once
// A folder of its own for a test, removed at the end.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace redraft {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    static int number = 0;
    path_ = std::filesystem::path(testing::TempDir()) / ("redraft-" + std::string(test->name()) + "-" +
                                                         std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a leftover in the temporary folder fails no test
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace redraft
