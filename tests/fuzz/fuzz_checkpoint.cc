// A checkpoint of several shards with its index. The input holds several files (input_folder.h).
#include <string>

#include "base/error.h"
#include "base/safetensors.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/input_folder.h"

namespace redraft {
namespace {

void checkCheckpoint(const std::string& folder) {
  const SafetensorsCheckpoint checkpoint = SafetensorsCheckpoint::open(folder);
  for (const std::string& name : checkpoint.names()) {
    const TensorView& view = checkpoint.at(name);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < view.bytes; ++i) sum += std::to_integer<std::size_t>(view.data[i]);
    REDRAFT_CHECK(checkpoint.has(name) && sum <= 255 * view.bytes, "a tensor is not where it was listed");
  }
  checkpoint.at("no such tensor");
}

void readCheckpoint(std::string_view bytes) {
  static const fuzz::InputFolder input;
  input.lay(bytes, {"model.safetensors.index.json", "model.safetensors", "a.safetensors", "b.safetensors"});
  fuzz::mayRefuse(input.path(), [] { checkCheckpoint(input.path()); });
}

}  // namespace
}  // namespace redraft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::readCheckpoint({reinterpret_cast<const char*>(data), size});
  return 0;
}
