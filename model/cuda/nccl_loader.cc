#include <dlfcn.h>

#include "base/error.h"
#include "devices/cuda_loader.h"
#include "model/cuda/nccl_group.h"
#include "model/cuda/torch_cuda.h"

namespace redraft::model {

NcclLibrary loadNccl() {
  loadTorchCuda();  // with its reasons, where there is no GPU
  void* const library = devices::openRuntimeLibrary(kTorchCudaLibrary, "run `redraft doctor`");
  const auto get = reinterpret_cast<GetNcclLibrary>(::dlsym(library, kGetNcclLibrary));
  if (get == nullptr)
    throw Error(ErrorKind::kEnvironment, kTorchCudaLibrary, std::string("it does not export ") + kGetNcclLibrary,
                "rebuild it with this program");
  return get();
}

}  // namespace redraft::model
