#include "devices/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "devices/artefact_store.h"

namespace redraft::devices {
namespace {

constexpr const char* kNvrtcLibrary = "libnvrtc.so.13";

using Program = struct OpaqueProgram*;
using Result = int;  // nvrtcResult; 0 is success

/// As nvrtc.h of CUDA 13 declares them.
struct Entries {
  const char* (*nvrtcGetErrorString)(Result);
  Result (*nvrtcVersion)(int*, int*);
  Result (*nvrtcGetNumSupportedArchs)(int*);
  Result (*nvrtcGetSupportedArchs)(int*);
  Result (*nvrtcCreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*nvrtcDestroyProgram)(Program*);
  Result (*nvrtcCompileProgram)(Program, int, const char* const*);
  Result (*nvrtcGetProgramLogSize)(Program, std::size_t*);
  Result (*nvrtcGetProgramLog)(Program, char*);
  Result (*nvrtcGetCUBINSize)(Program, std::size_t*);
  Result (*nvrtcGetCUBIN)(Program, char*);
};

/// The loader's own search, then where a toolkit lies that it does not know.
void* openLibrary() {
  std::vector<std::string> candidates = {kNvrtcLibrary};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) candidates.push_back(std::string(root) + "/lib64/" + kNvrtcLibrary);
  }
  candidates.push_back(std::string("/usr/local/cuda/lib64/") + kNvrtcLibrary);
  for (const std::string& candidate : candidates) {
    if (void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw Error(ErrorKind::kEnvironment, kNvrtcLibrary, "the CUDA run-time compiler was not found",
              "install a CUDA 13 toolkit, and name it by CUDA_HOME where it is not in /usr/local/cuda");
}

template <class Function>
void lookUp(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  if (*function == nullptr) {
    throw Error(ErrorKind::kEnvironment, kNvrtcLibrary, std::string("it does not export ") + name,
                "install CUDA 13's run-time compiler");
  }
}

class ProgramScope {
 public:
  ProgramScope(const Entries& entries, const GpuSource& source) : entries_(entries) {
    std::vector<const char*> names, texts;
    for (const auto& [name, text] : source.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    const Result made = entries.nvrtcCreateProgram(&program_, source.text.c_str(), source.name.c_str(),
                                                   static_cast<int>(names.size()), texts.data(), names.data());
    if (made != 0) throw Error(ErrorKind::kEnvironment, "nvrtcCreateProgram", entries.nvrtcGetErrorString(made));
  }
  ~ProgramScope() { entries_.nvrtcDestroyProgram(&program_); }
  ProgramScope(const ProgramScope&) = delete;
  ProgramScope& operator=(const ProgramScope&) = delete;
  Program get() const { return program_; }

 private:
  const Entries& entries_;
  Program program_ = nullptr;
};

void checkResult(const Entries& entries, Result result, const char* call) {
  if (result != 0) throw Error(ErrorKind::kEnvironment, call, entries.nvrtcGetErrorString(result));
}

std::string logOf(const Entries& entries, Program program) {
  std::size_t size = 0;
  checkResult(entries, entries.nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
  std::string log(size, '\0');
  checkResult(entries, entries.nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

}  // namespace

struct Nvrtc::Api : Entries {};

Nvrtc::Nvrtc() {
  static const Api* const api = [] {
    void* const library = openLibrary();
    auto found = std::make_unique<Api>();
#define REDRAFT_NVRTC_LOOKUP(name) lookUp(library, #name, &found->name)
    REDRAFT_NVRTC_LOOKUP(nvrtcGetErrorString);
    REDRAFT_NVRTC_LOOKUP(nvrtcVersion);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetNumSupportedArchs);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetSupportedArchs);
    REDRAFT_NVRTC_LOOKUP(nvrtcCreateProgram);
    REDRAFT_NVRTC_LOOKUP(nvrtcDestroyProgram);
    REDRAFT_NVRTC_LOOKUP(nvrtcCompileProgram);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetProgramLogSize);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetProgramLog);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetCUBINSize);
    REDRAFT_NVRTC_LOOKUP(nvrtcGetCUBIN);
#undef REDRAFT_NVRTC_LOOKUP
    return found.release();
  }();
  api_ = api;
}

const Nvrtc& Nvrtc::open() {
  static const Nvrtc nvrtc;
  return nvrtc;
}

std::string Nvrtc::whyNone() {
  try {
    open();
    return "";
  } catch (const Error& error) {
    return error.place() + ": " + error.message();
  }
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  checkResult(*api_, api_->nvrtcVersion(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + '.' + std::to_string(minor);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  checkResult(*api_, api_->nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> found(static_cast<std::size_t>(count));
  checkResult(*api_, api_->nvrtcGetSupportedArchs(found.data()), "nvrtcGetSupportedArchs");
  std::sort(found.begin(), found.end());
  return found;
}

std::string Nvrtc::keyOf(const GpuSource& source, int architecture) const {
  std::string key = "nvrtc " + version() + "\nsm_" + std::to_string(architecture) + '\n' + join(source.options, " ") +
                    '\n' + source.name + '\n' + source.text;
  for (const auto& [name, text] : source.headers) key += '\n' + name + '\n' + text;
  return key;
}

Cubin Nvrtc::compile(const GpuSource& source, int architecture) const {
  const std::vector<int> known = architectures();
  if (std::find(known.begin(), known.end(), architecture) == known.end()) {
    std::vector<std::string> names;
    for (const int one : known) names.push_back(std::to_string(one));
    throwBadInput(source.name, "NVRTC " + version() + " does not compile for sm_" + std::to_string(architecture),
                  "it compiles for " + join(names, ", "));
  }
  const ProgramScope program(*api_, source);
  const std::string target = "--gpu-architecture=sm_" + std::to_string(architecture);
  std::vector<const char*> options = {target.c_str()};
  for (const std::string& option : source.options) options.push_back(option.c_str());
  const Result compiled = api_->nvrtcCompileProgram(program.get(), static_cast<int>(options.size()), options.data());
  Cubin cubin;
  cubin.log = logOf(*api_, program.get());
  if (compiled != 0) {
    throwBadInput(source.name, std::string(api_->nvrtcGetErrorString(compiled)) + "\n" + cubin.log,
                  "mend the source, or the options it is compiled with");
  }
  std::size_t size = 0;
  checkResult(*api_, api_->nvrtcGetCUBINSize(program.get(), &size), "nvrtcGetCUBINSize");
  cubin.bytes.resize(size);
  checkResult(*api_, api_->nvrtcGetCUBIN(program.get(), reinterpret_cast<char*>(cubin.bytes.data())), "nvrtcGetCUBIN");
  return cubin;
}

std::vector<std::byte> Nvrtc::compiledFrom(ArtefactStore& store, const GpuSource& source, int architecture) const {
  return store.getOrMake(keyOf(source, architecture), [&] { return compile(source, architecture).bytes; });
}

}  // namespace redraft::devices
