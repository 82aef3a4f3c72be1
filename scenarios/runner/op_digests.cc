#include "scenarios/runner/op_digests.h"

#include <charconv>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "devices/cuda_loader.h"

namespace redraft::scenarios {

namespace {

std::int64_t stepOf(const std::string& text, const std::string& whole) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 0)
    throwBadInput("--op-digests", "\"" + printable(whole) + "\" is no range of steps", "write FIRST:LAST, as 3:4");
  return step;
}

}  // namespace

StepRange parseStepRange(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const StepRange range{stepOf(parts.front(), text), stepOf(parts.back(), text)};
  if (parts.size() > 2 || range.last < range.first)
    throwBadInput("--op-digests", "\"" + printable(text) + "\" is no range of steps", "write FIRST:LAST, as 3:4");
  return range;
}

OpDigests::OpDigests(const StepRange& steps, RunBackend& backend, const std::vector<at::Device>& roles)
    : digests_(backend.simulated() == nullptr ? &backend.driver() : nullptr),
      // On a GPU every byte counts: what a recorded operation made is digested once, where it is made.
      recorder_({steps.first, steps.last, backend.simulated() != nullptr}, digests_) {
  std::set<int> gpus;
  for (const at::Device& device : roles)
    if (device.is_cuda()) gpus.insert(device.index());
  for (const int gpu : gpus) digests_.prepare(gpu, devices::cudaArchitecture(backend.driver(), gpu));
}

}  // namespace redraft::scenarios
