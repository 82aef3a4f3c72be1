// What the pipeline's queue and barrier tell of the order between its threads: who knows what behind a hand-off.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "model/pipeline/exchange.h"
#include "model/pipeline/ordered_queue.h"

namespace redraft::model {
namespace {

/// Keeps a clock for each of a few named threads; the calling one is set by hand.
class Clocks : public Instrument {
 public:
  Clocks() { setInstrument(this); }
  ~Clocks() override { setInstrument(nullptr); }

  void as(const std::string& who) { who_ = who; }
  /// The calling thread learns that work of stream `stream` is done.
  void waitedFor(std::size_t stream) {
    devices::Clock& clock = of_[who_];
    if (clock.size() <= stream) clock.resize(stream + 1);
    clock[stream] = 1;
  }
  bool knows(const std::string& who, std::size_t stream) { return stream < of_[who].size() && of_[who][stream] == 1; }

  void publish(devices::HostMark& mark) override { devices::joinClock(mark.done, of_[who_]); }
  void observe(const devices::HostMark& mark) override { devices::joinClock(of_[who_], mark.done); }

 private:
  static inline thread_local std::string who_;
  std::map<std::string, devices::Clock> of_;  // only touched under the monitor's lock, or by one thread
};

constexpr std::chrono::seconds kPatience{30};

TEST(HostOrderTest, AConsumerKnowsWhatTheProducerOfItsItemKnewAndNoOther) {
  Clocks clocks;
  RunMonitor monitor(kPatience);
  OrderedQueue<int> queue(monitor, 2);
  clocks.as("target[0]");
  clocks.waitedFor(0);
  queue.push(0, 0, "target[0]");
  clocks.as("target[1]");
  clocks.waitedFor(1);
  queue.push(1, 0, "target[1]");
  clocks.waitedFor(2);  // too late for the item
  clocks.as("drafter[0]");
  queue.pop(1, "drafter[0]");
  EXPECT_FALSE(clocks.knows("drafter[0]", 0));
  EXPECT_TRUE(clocks.knows("drafter[0]", 1));
  EXPECT_FALSE(clocks.knows("drafter[0]", 2));
}

TEST(HostOrderTest, AProducerThatFindsRoomKnowsWhatTheConsumersThatMadeItKnew) {
  Clocks clocks;
  RunMonitor monitor(kPatience);
  OrderedQueue<int> queue(monitor, 2);
  clocks.as("target[0]");
  queue.push(0, 0, "target[0]");
  queue.push(1, 0, "target[0]");
  clocks.as("drafter[1]");
  clocks.waitedFor(1);
  queue.pop(1, "drafter[1]");  // makes no room: 0 is still there
  clocks.as("drafter[0]");
  clocks.waitedFor(0);
  queue.pop(0, "drafter[0]");
  clocks.waitedFor(2);
  clocks.as("target[0]");
  queue.push(2, 0, "target[0]");
  EXPECT_TRUE(clocks.knows("target[0]", 0));
  EXPECT_TRUE(clocks.knows("target[0]", 1));
  EXPECT_FALSE(clocks.knows("target[0]", 2)) << "it waited after it had made the room";
}

TEST(HostOrderTest, ATakenItemThatMadeNoRoomTellsAProducerNothing) {
  Clocks clocks;
  RunMonitor monitor(kPatience);
  OrderedQueue<int> queue(monitor, 3);
  clocks.as("target[0]");
  queue.push(0, 0, "target[0]");
  queue.push(1, 0, "target[0]");
  clocks.as("drafter[1]");
  clocks.waitedFor(1);
  queue.pop(1, "drafter[1]");
  clocks.as("target[0]");
  queue.push(2, 0, "target[0]");
  EXPECT_FALSE(clocks.knows("target[0]", 1)) << "there was room anyway";
}

TEST(HostOrderTest, BehindABarrierAllKnowWhatAnyKnewBeforeIt) {
  Clocks clocks;
  RunMonitor monitor(kPatience);
  const std::vector<std::string> members = {"drafter[0]", "drafter[1]", "drafter[2]"};
  Exchange<int> exchange(monitor, members);
  std::vector<std::thread> threads;
  for (std::size_t m = 0; m < members.size(); ++m) {
    {
      const auto lock = monitor.lock();
      clocks.as(members[m]);
      clocks.waitedFor(m);
    }
    threads.emplace_back([&, m] {
      clocks.as(members[m]);
      exchange.all(static_cast<int>(m), 0, "a value");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& member : members) {
    for (std::size_t stream = 0; stream < members.size(); ++stream) EXPECT_TRUE(clocks.knows(member, stream)) << member;
  }
}

}  // namespace
}  // namespace redraft::model
