#include "scenarios/runner/throw_trace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <typeinfo>

#include "scenarios/runner/symbol_table.h"

namespace redraft::scenarios {

namespace {

constexpr int kMaxFrames = 48;
constexpr std::size_t kThrows = 64;

struct Throw {
  const void* object = nullptr;
  devices::Origin origin;
  std::array<void*, kMaxFrames> frames{};
  int count = 0;
};

struct Ring {
  std::mutex mutex;
  std::array<Throw, kThrows> throws;
  std::size_t next = 0;
};

std::atomic<bool> recording{false};

Ring& ring() {
  static Ring instance;
  return instance;
}

void note(const void* object) {
  Throw entry;
  entry.object = object;
  entry.origin = devices::currentOrigin();
  entry.count = ::backtrace(entry.frames.data(), kMaxFrames);
  const std::lock_guard<std::mutex> guard(ring().mutex);
  ring().throws[ring().next++ % kThrows] = entry;
}

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                        std::free);
  return status == 0 ? readable.get() : name;
}

std::string baseName(const char* path) {
  const std::string text = path != nullptr ? path : "?";
  return text.substr(text.rfind('/') + 1);
}

std::string describeFrame(void* frame) {
  // A frame holds the address of the next instruction; the call is just before it.
  const char* address = static_cast<const char*>(frame) - 1;
  Dl_info info{};
  const bool known = ::dladdr(address, &info) != 0;
  std::string name = known && info.dli_sname != nullptr ? demangle(info.dli_sname) : "";
  if (name.empty()) {
    const std::string local = ownSymbol(address);
    name = local.empty() ? "?" : demangle(local.c_str());
  }
  const auto base = reinterpret_cast<std::uintptr_t>(known ? info.dli_fbase : nullptr);
  char place[32];
  std::snprintf(place, sizeof place, "+0x%zx",
                static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(address) - base));
  return name + " (" + baseName(known ? info.dli_fname : nullptr) + place + ")";
}

}  // namespace

void startThrowTrace() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads the unwinder, which a throw must not do
  recording = true;
}

std::optional<ThrowSite> throwSiteOf(const std::exception_ptr& error) {
  // libstdc++'s exception_ptr is one pointer, to the thrown object.
  static_assert(sizeof(std::exception_ptr) == sizeof(void*));
  const void* object = *reinterpret_cast<void* const*>(&error);
  const std::lock_guard<std::mutex> guard(ring().mutex);
  for (std::size_t age = 1; age <= kThrows && age <= ring().next; ++age) {
    const Throw& entry = ring().throws[(ring().next - age) % kThrows];
    if (entry.object != object) continue;
    constexpr int kOwn = 2;  // note() and __cxa_throw()
    ThrowSite site;
    site.origin = entry.origin;
    for (int i = kOwn; i < entry.count; ++i) site.frames.push_back(entry.frames[static_cast<std::size_t>(i)]);
    return site;
  }
  return std::nullopt;
}

std::vector<std::string> symbolise(const std::vector<void*>& frames) {
  std::vector<std::string> lines;
  lines.reserve(frames.size());
  for (void* frame : frames) lines.push_back(describeFrame(frame));
  return lines;
}

std::string exceptionClass(const std::exception_ptr& error) {
  const std::type_info* type = error.__cxa_exception_type();
  return type != nullptr ? demangle(type->name()) : "unknown";
}

}  // namespace redraft::scenarios

// Named apart and given the symbol by label: g++ 13 declares the function itself, with other parameter types.
extern "C" void interposedThrow(void* object, std::type_info* type, void (*destructor)(void*)) asm("__cxa_throw");
extern "C" void interposedThrow(void* object, std::type_info* type, void (*destructor)(void*)) {
  using CxaThrow = void (*)(void*, std::type_info*, void (*)(void*));
  static const auto next = reinterpret_cast<CxaThrow>(::dlsym(RTLD_NEXT, "__cxa_throw"));
  if (redraft::scenarios::recording.load(std::memory_order_relaxed)) redraft::scenarios::note(object);
  next(object, type, destructor);
  std::abort();  // not reached: throwing does not return
}
