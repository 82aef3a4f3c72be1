// The entry points of libredraft_cupti.so.
#include <memory>

#include "harness/probe/cupti_capture.h"

namespace redraft::harness {
namespace {

/// The program's end of a capture, which itself is kept until the process ends.
class LibraryCapture final : public DeviceCapture {
 public:
  explicit LibraryCapture(CuptiCapture& capture) : capture_(capture) {}
  ~LibraryCapture() override { static_cast<void>(capture_.stop(StopMode::kAtOnce)); }
  LibraryCapture(const LibraryCapture&) = delete;
  LibraryCapture& operator=(const LibraryCapture&) = delete;

  CanaryPlan plantCanaries() override { return capture_.plantCanaries(); }
  void flush(std::int64_t step) override { capture_.flush(step); }
  bool pause(std::string& error) override { return capture_.pause(error); }
  bool resume(std::string& error) override { return capture_.resume(error); }
  void leaveOut(const std::set<CapturePart>& parts) override { capture_.leaveOut(parts); }
  Trace stop(StopMode mode) override { return capture_.stop(mode); }
  CaptureCost cost() const override { return capture_.cost(); }
  devices::Declarations& declarations() override { return capture_.declarations(); }

 private:
  CuptiCapture& capture_;
};

}  // namespace
}  // namespace redraft::harness

extern "C" __attribute__((visibility("default"))) redraft::harness::DeviceCapture* redraftStartCapture(
    const redraft::harness::CaptureHost& host, const redraft::harness::CaptureOptions& options,
    redraft::harness::CaptureRefusal& refusal) {
  using namespace redraft::harness;
  CuptiApi api;
  if (!api.loadCupti(refusal) || !api.loadDriver(refusal)) return nullptr;
  CuptiCapture* const capture = CuptiCapture::start(api, host, options, refusal);
  return capture == nullptr ? nullptr : std::make_unique<LibraryCapture>(*capture).release();
}

extern "C" __attribute__((visibility("default"))) std::uint32_t redraftCuptiVersion(
    redraft::harness::CaptureRefusal& refusal) {
  redraft::harness::CuptiApi api;
  return api.loadCupti(refusal) ? CUPTI_API_VERSION : 0;
}
