// Cost of the calls that every operation of the simulated backend makes, and of a launch by way of the kernel cache.
#include <benchmark/benchmark.h>

#include "devices/context_guard.h"
#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "devices/sim/work_times.h"

namespace redraft::devices {
namespace {

constexpr int kDevices = 8;

void nothing(void**) {}

Image emptyImage() { return {"nothing", {}, {{"nothing", &nothing}}}; }

SimDriver& driver() {
  static const std::unique_ptr<SimDriver> instance = [] {
    SimOptions options;
    options.topology.deviceCount = kDevices;
    auto made = makeSimDriver(options);
    for (const CallKind kind : {CallKind::kSetCurrent, CallKind::kAllocate, CallKind::kFree})
      made->log().mute(kind, true);
    return made;
  }();
  return *instance;
}

Context context(int device) {
  Context context;
  check(driver().primaryContext(device, &context), "primaryContext", device);
  return context;
}

void setCurrent(benchmark::State& state) {
  const Context contexts[] = {context(state.thread_index() % kDevices), context((state.thread_index() + 1) % kDevices)};
  std::size_t next = 0;
  for (auto _ : state) check(driver().setCurrent(contexts[next ^= 1]), "setCurrent", -1);
}
BENCHMARK(setCurrent)->ThreadRange(1, 8);

void currentDevice(benchmark::State& state) {
  const ContextGuard guard(driver(), state.thread_index() % kDevices);
  for (auto _ : state) {
    Context now;
    int device = -1;
    check(driver().current(&now), "current", -1);
    check(driver().contextDevice(now, &device), "contextDevice", -1);
    benchmark::DoNotOptimize(device);
  }
}
BENCHMARK(currentDevice)->ThreadRange(1, 8);

void allocateAndFree(benchmark::State& state) {
  const ContextGuard guard(driver(), state.thread_index() % kDevices);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* memory = nullptr;
    check(driver().allocate(bytes, &memory), "allocate", -1);
    check(driver().free(memory), "free", -1);
  }
}
BENCHMARK(allocateAndFree)->Arg(64)->Arg(16384)->ThreadRange(1, 8);

void adoptAndRelease(benchmark::State& state) {
  const int device = state.thread_index() % kDevices;
  const std::vector<char> memory(256);
  for (auto _ : state) {
    check(driver().adoptMemory(memory.data(), memory.size(), device), "adoptMemory", device);
    check(driver().releaseMemory(memory.data()), "releaseMemory", device);
  }
}
BENCHMARK(adoptAndRelease)->ThreadRange(1, 8);

/// Eight tensors touched, as attention does; the record is kept. `timed`: a trace asks when the work ran.
void launch(benchmark::State& state) {
  SimOptions options;
  options.raceCheck = state.range(0) != 0;
  const auto own = makeSimDriver(options);
  std::int64_t total = 0;
  if (state.range(1) != 0) setWorkSink(*own, [&](std::int64_t, std::int64_t lasted) { total += lasted; });
  const ContextGuard guard(*own, 0);
  Module module;
  Function function;
  check(own->loadModule(emptyImage(), &module), "loadModule", 0);
  check(own->moduleFunction(module, "nothing", &function), "moduleFunction", 0);
  LaunchArguments arguments;
  for (int i = 0; i < 8; ++i) {
    void* memory = nullptr;
    check(own->allocate(4096, &memory), "allocate", 0);
    arguments.touches.push_back({"tensor", memory, 4096, i >= 6});
  }
  for (auto _ : state) check(own->launch(function, {}, {}, arguments), "launch", 0);
}
BENCHMARK(launch)->ArgNames({"raceCheck", "timed"})->ArgsProduct({{0, 1}, {0, 1}});

void cacheHit(benchmark::State& state) {
  static KernelCache cache(driver(), [](const std::string&) { return emptyImage(); });
  driver().log().mute(CallKind::kCacheHit, state.range(0) == 0);
  const int device = state.thread_index() % kDevices;
  const ContextGuard guard(driver(), device);
  const CacheRequest request{"attention_forward/d64/full/f32/b16", device, guard.context()};
  for (auto _ : state) benchmark::DoNotOptimize(cache.get(request, "nothing"));
}
BENCHMARK(cacheHit)->ArgName("logged")->Arg(0)->Arg(1)->ThreadRange(1, 8);

}  // namespace
}  // namespace redraft::devices
