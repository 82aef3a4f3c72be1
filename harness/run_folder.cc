#include "harness/run_folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/record_file.h"
#include "base/text.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDataFiles = 10'000;
constexpr std::uintmax_t kMaxCopyBytes = 64u << 20;  // of a file: larger ones are linked where they cannot be cloned
constexpr std::streamoff kTailBytes = 512 << 10;
constexpr std::size_t kMaxLogLine = 2000;  // a frame with a long mangled name has to stay whole

[[noreturn]] void refuse(const fs::path& path, const std::error_code& error) {
  throw Error(ErrorKind::kEnvironment, path.string(), error.message(), "check the disk's space and permissions");
}

/// A copy that shares its blocks until one of the two is written, where the file system knows such.
bool cloneFile(const fs::path& source, const fs::path& destination) {
  const int from = ::open(source.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  const int to = ::open(destination.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const bool cloned = to >= 0 && ::ioctl(to, FICLONE, from) == 0;
  ::close(from);
  if (to < 0) return false;
  ::close(to);
  if (!cloned) ::unlink(destination.c_str());
  return cloned;
}

void layFile(const fs::path& source, const fs::path& destination) {
  makeDirectories(destination.parent_path().string());
  if (cloneFile(source, destination)) return;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(source, error);
  if (!error && bytes > kMaxCopyBytes) {
    fs::create_hard_link(source, destination, error);
    if (!error) return;
  }
  fs::copy_file(source, destination, error);
  if (error) refuse(destination, error);
}

}  // namespace

void layData(const DataLink& link, const std::string& folder) {
  std::error_code error;
  const fs::path source = fs::canonical(link.source, error);
  if (error) throwBadInput(link.source, error.message(), "the scenario names this file or folder; see docs/formats.md");
  const fs::path destination = joinPath(folder, link.destination);
  if (!fs::is_directory(source)) return layFile(source, destination);
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source, error)) {
    if (!entry.is_regular_file()) continue;
    if (++files > kMaxDataFiles)
      throwBadInput(link.source, "holds more than " + std::to_string(kMaxDataFiles) + " files");
    layFile(fs::canonical(entry.path()), destination / entry.path().lexically_relative(source));
  }
  if (error) throwBadInput(link.source, error.message());
}

void prepareRunFolder(const std::string& folder, const CasePlan& plan, const golden::EnvironmentReport& environment) {
  if (fileExists(folder)) throw Error(ErrorKind::kEnvironment, folder, "is there already", "choose another --out");
  makeDirectories(folder);
  writeFileAtomically(joinPath(folder, kScenarioFile), plan.scenarioText);
  writeFileAtomically(joinPath(folder, kTokenFile), plan.token + "\n");
  golden::EnvironmentReport report = environment;
  report.processes = plan.processes;
  writeFileAtomically(joinPath(folder, kEnvironmentFile), pretty(recordToJson(report)));
  for (const DataLink& link : plan.links) layData(link, folder);
}

golden::EnvironmentReport loadEnvironmentReport(const std::string& folder) {
  return loadRecordFile<golden::EnvironmentReport>(joinPath(folder, kEnvironmentFile), golden::kEnvironmentSchema);
}

std::optional<golden::MemoryReport> loadMemoryReport(const std::string& folder) {
  const std::string path = joinPath(folder, kMemoryFile);
  if (!fileExists(path)) return std::nullopt;
  return loadRecordFile<golden::MemoryReport>(path, golden::kMemorySchema);
}

reports::CaseResult loadCaseResult(const std::string& folder) {
  return loadRecordFile<reports::CaseResult>(joinPath(folder, kResultFile), reports::kCaseSchema);
}

std::vector<std::string> logTail(const std::string& folder, std::size_t lines) {
  std::ifstream file(joinPath(folder, kLogFile), std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::vector<std::string> tail;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) tail.push_back(printable(line, kMaxLogLine));
  if (tail.size() > lines) tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(lines));
  return tail;
}

}  // namespace redraft::harness
