#include "harness/progress.h"

#include "base/text.h"
#include "reports/layout.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kMaxLine = 118;

/// What a verdict other than PASSED comes to.
std::string weight(const reports::CaseResult& result) {
  if (!result.asExpected()) return result.isKnownFailure() ? "  a known failure" : "  NOT as expected";
  return result.verdict == reports::Verdict::kPassed ? "" : "  as expected";
}

}  // namespace

ProgressDisplay::ProgressDisplay(std::FILE* out, bool terminal, const std::vector<CasePlan>& plans)
    : out_(out), terminal_(terminal), plans_(plans) {
  for (const CasePlan& plan : plans) stepsInAll_ += plan.steps;
}

ProgressDisplay::~ProgressDisplay() {
  if (terminal_) std::fputs("\r\033[K", out_);
}

void ProgressDisplay::started(std::size_t index) {
  const std::lock_guard lock(mutex_);
  running_[index] = {};
  redraw();
}

void ProgressDisplay::progressed(std::size_t index, const RunProgress& progress) {
  const std::lock_guard lock(mutex_);
  running_[index] = progress;
  redraw();
}

void ProgressDisplay::ended(std::size_t index, const reports::CaseResult& result) {
  const std::lock_guard lock(mutex_);
  running_.erase(index);
  ++ended_;
  stepsEnded_ += plans_[index].steps;
  const std::string line = "[" + std::to_string(ended_) + "/" + std::to_string(plans_.size()) + "] " +
                           enumName(result.verdict) + " " + result.name + ", " +
                           reports::formatSeconds(result.figures.seconds) + weight(result);
  std::fputs(((terminal_ ? "\r\033[K" : "") + line + "\n").c_str(), out_);
  redraw();
}

std::string ProgressDisplay::statusLine(double elapsed) const {
  std::vector<std::string> cases;
  double rate = 0;
  std::int64_t steps = stepsEnded_;
  for (const auto& [index, progress] : running_) {
    const CasePlan& plan = plans_[index];
    cases.push_back(plan.name + " " + std::to_string(progress.step) + "/" + std::to_string(plan.steps));
    if (progress.seconds > 0) rate += static_cast<double>(progress.tokens) / progress.seconds;
    steps += progress.step;
  }
  std::string line = "[" + std::to_string(ended_) + "/" + std::to_string(plans_.size()) + "] " + join(cases, ", ");
  if (rate > 0) line += "  " + reports::formatRate(rate);
  if (steps > 0 && elapsed > 0) {
    const double left = static_cast<double>(stepsInAll_ - steps) * elapsed / static_cast<double>(steps);
    line += "  " + reports::formatSeconds(left) + " left";
  }
  return printable(line, kMaxLine);
}

void ProgressDisplay::redraw() {
  if (!terminal_) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::fputs(("\r\033[K" + statusLine(elapsed.count())).c_str(), out_);
  std::fflush(out_);
}

}  // namespace redraft::harness
