#include "scenarios/faults/slowdown_faults.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "scenarios/faults/make_fault.h"
#include "scenarios/faults/origin_match.h"
#include "scenarios/faults/role_work.h"

namespace redraft::scenarios {
namespace {

using model::SyncPoint;

SyncPoint pointOf(const std::string& at) {
  if (at == "all-reduce") return SyncPoint::kCollectiveEnter;
  return at == "optimizer" ? SyncPoint::kOptimizerStep : SyncPoint::kStepEnd;
}

/// Rejected: to wait for the device and then hold the thread. What other roles and streams do meanwhile makes up for
/// it, and a GPU's own time does not show it.
class Stretch : public Fault {
 public:
  explicit Stretch(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")),
        percent_(parameters.number("percent", 0, 1000)),
        point_(pointOf(parameters.choice("at", {"step-end", "all-reduce", "optimizer"}, "step-end"))) {}

  void install(FaultSite& site) override { work_.emplace(site, role_).prepareDelay(); }
  void syncPoint(SyncPoint point, std::int64_t) override {
    if (point != point_ || !calledBy(role_)) return;
    const auto now = Clock::now();
    const bool first = !last_;
    own_ = {own_[1], own_[2], last_ ? now - *last_ - planted_ : Clock::duration{0}};
    last_ = now;
    // Of three steps the middle one: one that waited for its turn in a bench is no measure.
    auto sorted = own_;
    std::sort(sorted.begin(), sorted.end());
    planted_ = std::max(Clock::duration{0}, std::chrono::duration_cast<Clock::duration>(sorted[1] * percent_ / 100));
    if (first || planted_.count() > 0) work_->delay(planted_);  // the first is empty, and loads the code
  }

 private:
  using Clock = std::chrono::steady_clock;

  const std::string role_;
  const double percent_;
  const SyncPoint point_;
  std::optional<RoleWork> work_;
  // Touched by the role's own thread alone.
  std::optional<Clock::time_point> last_;
  std::array<Clock::duration, 3> own_{};  // of the last steps, without what was planted
  Clock::duration planted_{0};
};

class ExtraCopy : public Fault {
 public:
  explicit ExtraCopy(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")),
        bytes_(static_cast<std::size_t>(parameters.integer("mebibytes", 1, 4096, 16)) << 20) {}

  void install(FaultSite& site) override { work_.emplace(site, role_).prepareCopy(bytes_); }
  void syncPoint(SyncPoint point, std::int64_t) override {
    if (point == workPoint(role_) && calledBy(role_)) work_->copy();
  }

 private:
  const std::string role_;
  const std::size_t bytes_;
  std::optional<RoleWork> work_;
};

}  // namespace

std::unique_ptr<Fault> makeStretch(JsonReader parameters) { return makeFrom<Stretch>(parameters); }
std::unique_ptr<Fault> makeExtraCopy(JsonReader parameters) { return makeFrom<ExtraCopy>(parameters); }

}  // namespace redraft::scenarios
