#include "harness/bench/turn_pair.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>

#include "harness/turns.h"

namespace redraft::harness {
namespace {

constexpr int kSettling = 1;  // steps of a turn
constexpr std::chrono::milliseconds kEndLook{100};

class PairOfRuns {
 public:
  PairOfRuns(const TurnSide& a, const TurnSide& b, const TurnPlan& turns, ClockSampler& clocks)
      : sides_{&a, &b}, turns_(turns), clocks_(clocks) {}

  PairRun run() {
    std::array<std::future<Observation>, 2> seen = {start(0), start(1)};
    giveTurns();
    for (const int side : {0, 1}) allow(side, sides_[side]->plan.steps);
    for (const std::future<Observation>& each : seen) each.wait();  // or the one's error would leave the other alone
    const Observation a = seen[0].get(), b = seen[1].get();
    return {blockOf(sides_[0]->plan, sides_[0]->folder, a, samples_[0]),
            blockOf(sides_[1]->plan, sides_[1]->folder, b, samples_[1])};
  }

 private:
  struct EndNote {
    std::atomic<bool>& ended;
    ~EndNote() { ended = true; }
  };

  /// On a thread that stays until the child has ended.
  std::future<Observation> start(int side) {
    return std::async(std::launch::async, [this, side] {
      const EndNote note{ended_[side]};
      const BlockTurns turns{givers_[side].runnerFd(), [this, side] { return waits_[side].load(); }};
      return superviseInTurns(sides_[side]->plan, sides_[side]->folder, sides_[side]->options, turns);
    });
  }

  void giveTurns() {
    for (const int side : {0, 1}) allow(side, turns_.warmup);
    while (!waits_[0] || !waits_[1]) {  // whoever is first waits for the other one, which may still compile
      if (ended_[0] || ended_[1]) return;
      for (const int side : {0, 1})
        if (!waits_[side]) waits_[side] = givers_[side].reached(kEndLook);
    }
    const int first = turns_.aFirst ? 0 : 1;
    const int count = turnsWithin(std::min(sides_[0]->plan.steps, sides_[1]->plan.steps), turns_.warmup, turns_.turn);
    for (int i = 1; i <= count; ++i)
      for (const int side : {first, 1 - first})
        if (!takeTurn(side, turns_.warmup + i * turns_.turn)) return;
  }

  /// False: there are no more.
  bool takeTurn(int side, std::int64_t steps) {
    clocks_.take();
    clocks_.sample(true);
    allow(side, steps);
    while (!waits_[side] && !ended_[side]) waits_[side] = givers_[side].reached(kEndLook);
    clocks_.sample(false);
    const std::vector<devices::GpuClock> samples = clocks_.take();
    samples_[side].insert(samples_[side].end(), samples.begin(), samples.end());
    return !ended_[0] && !ended_[1];
  }

  void allow(int side, std::int64_t steps) {
    waits_[side] = false;
    givers_[side].allow(steps);
  }

  const std::array<const TurnSide*, 2> sides_;
  const TurnPlan& turns_;
  ClockSampler& clocks_;
  std::array<TurnGiver, 2> givers_;
  std::array<std::atomic<bool>, 2> ended_{}, waits_{};  // waits: for a turn
  std::array<std::vector<devices::GpuClock>, 2> samples_;
};

}  // namespace

int turnsWithin(std::int64_t steps, int warmup, int turn) {
  return static_cast<int>(std::max<std::int64_t>(0, (steps - 1 - warmup) / turn));
}

std::vector<std::vector<double>> secondsByTurn(const std::vector<double>& steps, int warmup, int turn) {
  std::vector<std::vector<double>> turns;
  const int settling = std::min(kSettling, turn - 1);
  auto begin = steps.begin() + warmup;
  for (int i = turnsWithin(static_cast<std::int64_t>(steps.size()), warmup, turn); i > 0; --i, begin += turn)
    turns.emplace_back(begin + settling, begin + turn);
  return turns;
}

PairRun runInTurns(const TurnSide& a, const TurnSide& b, const TurnPlan& turns, ClockSampler& clocks) {
  return PairOfRuns(a, b, turns, clocks).run();
}

}  // namespace redraft::harness
