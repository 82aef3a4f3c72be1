#include "harness/suite_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;

std::string utcStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H-%M-%SZ", &parts);
  return text;
}

std::int64_t folderBytes(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    bytes += info.st_nlink > 1 ? 0 : static_cast<std::int64_t>(info.st_blocks) * 512;  // linked data costs nothing
  }
  return bytes;
}

/// Suites of OUT, newest first.
std::vector<fs::path> suitesOf(const fs::path& out) {
  std::vector<fs::path> suites;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(out, error))
    if (!entry.is_symlink() && entry.is_directory() && fs::exists(entry.path() / kSuiteFile))
      suites.push_back(entry.path());
  std::sort(suites.rbegin(), suites.rend());
  return suites;
}

}  // namespace

std::string makeSuiteFolder(const std::string& out, const std::string& suffix) {
  makeDirectories(out);
  const std::string stamp = utcStamp() + suffix;
  for (int i = 1;; ++i) {
    std::string folder = joinPath(fs::absolute(out).string(), stamp + (i == 1 ? "" : "-" + std::to_string(i)));
    if (::mkdir(folder.c_str(), 0755) == 0) return folder;
    if (errno != EEXIST) throw Error(ErrorKind::kEnvironment, folder, std::strerror(errno), "choose another --out");
  }
}

void pointLatest(const std::string& suiteFolder) {
  const fs::path folder(suiteFolder), latest = folder.parent_path() / "latest";
  const fs::path temporary = folder.parent_path() / (".latest-" + folder.filename().string());
  std::error_code error;
  fs::create_directory_symlink(folder.filename(), temporary, error);
  if (!error) fs::rename(temporary, latest, error);
  if (error) log(LogLevel::kWarning, latest.string() + " was not updated: " + error.message());
}

void keepSuite(const std::string& suiteFolder) { writeFileAtomically(joinPath(suiteFolder, kKeepFile), ""); }

std::vector<std::string> pruneSuites(const std::string& out, const PruneLimits& limits) {
  std::vector<std::string> removed;
  std::size_t count = 0;
  std::int64_t bytes = 0;
  for (const fs::path& suite : suitesOf(out)) {
    if (fs::exists(suite / kKeepFile)) continue;
    bytes += folderBytes(suite);
    if (++count == 1 || (count <= limits.count && bytes <= limits.bytes)) continue;
    std::error_code error;
    fs::remove_all(suite, error);
    if (error)
      log(LogLevel::kWarning, suite.string() + " was not removed: " + error.message());
    else
      removed.push_back(suite.string());
  }
  return removed;
}

std::string caseFolderName(const std::string& scenario) {
  std::string name = scenario;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace redraft::harness
