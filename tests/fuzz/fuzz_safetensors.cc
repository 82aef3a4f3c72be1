#include <string>

#include "base/error.h"
#include "base/safetensors.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/may_refuse.h"

namespace redraft {
namespace {

void readTensors(std::string_view bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  const SafetensorsFile file = SafetensorsFile::fromBytes(bytes, "fuzz.safetensors");
  std::size_t total = 0, sum = 0;
  for (const auto& [name, view] : file.tensors()) {
    REDRAFT_CHECK(view.data >= begin && view.data + view.bytes <= begin + bytes.size(), "a view leaves the file");
    for (std::size_t i = 0; i < view.bytes; ++i) sum += std::to_integer<std::size_t>(view.data[i]);
    total += view.bytes;
    REDRAFT_CHECK(file.has(name) && &file.at(name) == &view, "a tensor is not where it was listed");
  }
  REDRAFT_CHECK(total < bytes.size() && sum <= 255 * total, "tensors overlap");
  file.at(std::string(bytes.substr(0, 40)));
}

}  // namespace
}  // namespace redraft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::fuzz::mayRefuse("fuzz.safetensors", [&] {
    redraft::readTensors({reinterpret_cast<const char*>(data), size});
  });
  return 0;
}
