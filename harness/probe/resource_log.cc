#include "harness/probe/resource_log.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "harness/probe/demangle.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kNameBytes = std::size_t{1} << 20;
constexpr int kShownFrames = 8;

std::string_view fileName(const char* path) {
  const std::string_view whole = path == nullptr ? "" : path;
  return whole.substr(whole.rfind('/') + 1);
}

/// Empty for a frame of CUDA's own libraries, or of this one.
std::string frameText(void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) return "?";
  const std::string_view library = fileName(info.dli_fname);
  for (const char* own : {"libcuda", "libcupti", "libredraft_cupti"})
    if (library.starts_with(own)) return "";
  if (info.dli_sname != nullptr) return demangled(info.dli_sname);
  char text[32];
  std::snprintf(text, sizeof text, "+0x%zx",
                static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase)));
  return std::string(library) + text;
}

}  // namespace

ResourceLog::ResourceLog(std::size_t capacity) {
  events_.reserve(capacity);
  names_.reserve(kNameBytes);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // the first call loads the unwinder
}

const char* ResourceLog::keepName(const char* name) {
  const std::size_t bytes = std::strlen(name) + 1;
  if (names_.capacity() - names_.size() < bytes) return nullptr;
  const std::size_t at = names_.size();
  names_.insert(names_.end(), name, name + bytes);
  return names_.data() + at;
}

void ResourceLog::add(ResourceEvent event, std::int64_t timeNs, const char* name) {
  event.timeNs = timeNs;
  event.thread = ::gettid();
  event.depth = ::backtrace(event.frames.data(), static_cast<int>(event.frames.size()));
  const std::lock_guard lock(mutex_);
  event.name = name == nullptr ? "" : keepName(name);
  if (event.name == nullptr || events_.size() == events_.capacity()) {
    ++lost_;
  } else {
    events_.push_back(event);
  }
}

void ResourceLog::moduleLoaded(const void* module, std::int32_t context) {
  const std::lock_guard lock(mutex_);
  modules_[module] = context;
}

std::int32_t ResourceLog::contextOfModule(const void* module) const {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  return found == modules_.end() ? -1 : found->second;
}

std::vector<ResourceEvent> ResourceLog::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

std::int64_t ResourceLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::string stackText(const ResourceEvent& event) {
  std::string text;
  int shown = 0;
  for (int i = 0; i < event.depth && shown < kShownFrames; ++i) {
    const std::string frame = frameText(event.frames[static_cast<std::size_t>(i)]);
    if (frame.empty()) continue;
    if (shown++ > 0) text += " < ";
    text += frame;
  }
  return text;
}

}  // namespace redraft::harness
