#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/json.h"
#include "harness/trace/kineto_reader.h"
#include "tests/fuzz/byte_reader.h"

namespace redraft {
namespace {

/// Bytes under a name that can be opened.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("trace", 0)) {
    REDRAFT_CHECK(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                  "no file in memory");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

bool isJson(std::string_view bytes) {
  try {
    JsonDocument::parse(bytes, "fuzz", JsonDocument::Comments::kRefuse);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// How often a trace was read, and what of.
std::string summary(const std::string& path, const harness::KinetoOptions& options) {
  try {
    const harness::Trace trace = harness::readKineto(path, options);
    std::string text = std::to_string(trace.files[0].events);
    for (const harness::TraceRecord& record : trace.records)
      text += " " + trace.text(record.name) + "@" + std::to_string(record.place);
    return text;
  } catch (const Error& error) {
    REDRAFT_CHECK(error.kind() == ErrorKind::kBadInput && error.place().starts_with(path), error.what());
    return "";
  }
}

}  // namespace
}  // namespace redraft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const redraft::MemoryFile file(bytes);
  const std::string whole = redraft::summary(file.path(), {1, std::size_t{1} << 16});
  const std::string cut = redraft::summary(file.path(), {1, 40});
  if (!whole.empty() && redraft::isJson(bytes))
    REDRAFT_CHECK(whole == cut, "windows changed what was read: " + whole + " and " + cut);
  return 0;
}
