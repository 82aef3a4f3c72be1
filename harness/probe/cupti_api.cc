#include "harness/probe/cupti_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace redraft::harness {
namespace {

constexpr const char* kCupti = "libcupti.so.13";
constexpr const char* kInstall =
    "install CUPTI of CUDA 13.0 (the wheel nvidia-cuda-cupti, which LibTorch needs too, or a toolkit named by "
    "CUDA_HOME)";

void* openCupti(std::string& error) {
  std::vector<std::string> candidates = {kCupti};
  const auto addRoot = [&](const std::string& root) {
    candidates.push_back(root + "/lib64/" + kCupti);
    candidates.push_back(root + "/extras/CUPTI/lib64/" + kCupti);
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable)) addRoot(root);
  addRoot("/usr/local/cuda");
  for (const std::string& candidate : candidates) {
    if (void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (error.empty()) error = ::dlerror();
  }
  return nullptr;
}

template <class Function>
bool lookUp(void* library, const char* name, Function& entry, CaptureRefusal& refusal) {
  entry = reinterpret_cast<Function>(::dlsym(library, name));
  if (entry == nullptr) refusal.message = std::string("it does not export ") + name;
  return entry != nullptr;
}

#define REDRAFT_TEXT(name) #name
#define REDRAFT_SYMBOL(name) REDRAFT_TEXT(name)  // expands cuda.h's macro for the versioned name first

}  // namespace

bool CuptiApi::loadCupti(CaptureRefusal& refusal) {
  refusal = {kCupti, "", kInstall};
  void* const library = openCupti(refusal.message);
  if (library == nullptr) return false;
#define REDRAFT_CUPTI_LOOKUP(name) \
  if (!lookUp(library, REDRAFT_SYMBOL(name), (name), refusal)) return false;
  REDRAFT_CUPTI_CALLS(REDRAFT_CUPTI_LOOKUP)
#undef REDRAFT_CUPTI_LOOKUP
  std::uint32_t version = 0;
  const CUptiResult result = cuptiGetVersion(&version);
  if (result != CUPTI_SUCCESS) {
    refusal.message = "cuptiGetVersion: " + resultText(result);
    return false;
  }
  if (version == CUPTI_API_VERSION) return true;
  refusal.message = "it is version " + std::to_string(version) + ", and this build reads the records of version " +
                    std::to_string(CUPTI_API_VERSION);
  refusal.remedy = "build with the toolkit of that version, or install the other (the one that LibTorch brings wins)";
  return false;
}

bool CuptiApi::loadDriver(CaptureRefusal& refusal) {
  refusal = {"libcuda.so.1", "", "run on a machine with an NVIDIA GPU and its driver"};
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refusal.message = ::dlerror();
    return false;
  }
#define REDRAFT_DRIVER_LOOKUP(name) \
  if (!lookUp(library, REDRAFT_SYMBOL(name), (name), refusal)) return false;
  REDRAFT_CUPTI_DRIVER_CALLS(REDRAFT_DRIVER_LOOKUP)
#undef REDRAFT_DRIVER_LOOKUP
  return true;
}

std::string CuptiApi::resultText(CUptiResult result) const {
  const char* text = nullptr;
  const bool known = cuptiGetResultString != nullptr && cuptiGetResultString(result, &text) == CUPTI_SUCCESS;
  return std::string(known && text != nullptr ? text : "error") + " (" + std::to_string(result) + ')';
}

}  // namespace redraft::harness
