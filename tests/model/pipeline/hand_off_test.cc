// What a hand-off declares, and in which order with what it does on the devices.
#include "model/pipeline/hand_off.h"

#include <ATen/ops/ones.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "model/instrument.h"
#include "model/sim/sim_backend.h"
#include "tests/model/pipeline/tiny_training.h"

namespace redraft::model {
namespace {

using devices::CallKind;
using devices::LogRecord;

/// Declares in the simulated driver's log, and waits as a test says.
class Seen : public Instrument {
 public:
  Seen() : log_(simDriver()) { setInstrument(this); }
  ~Seen() override { setInstrument(nullptr); }

  devices::Declarations* declarations() override { return &log_; }
  bool waitsForHandOff() const override { return waits; }

  bool waits = true;

 private:
  devices::LogDeclarations log_;
};

class HandOffDeclarationTest : public testing::Test {
 protected:
  HandOffDeclarationTest() { tinyDevice(0); }

  /// Hands one tensor from device 0 to `to`, each role on a stream of its own; the log's records meanwhile.
  std::vector<LogRecord> handOver(int to) {
    std::uint64_t before = 0;
    for (const LogRecord& record : simDriver().log().records()) before = record.sequence;
    const c10::StreamGuard giver(poolStream(tinyDevice(0)));
    const HandOff handOff({at::ones({8}, tinyDevice(0))});
    {
      const c10::StreamGuard taker(poolStream(tinyDevice(to)));
      received = handOff.receive(tinyDevice(to)).front();
    }
    std::vector<LogRecord> records;
    for (const LogRecord& record : simDriver().log().records())
      if (record.sequence > before) records.push_back(record);
    return records;
  }

  /// What a trace is checked by, in order: "given", "taken", "event_record", "event_wait", "copy".
  static std::vector<std::string> order(const std::vector<LogRecord>& records) {
    std::vector<std::string> names;
    for (const LogRecord& record : records) {
      if (record.kind == CallKind::kHandOff) names.push_back(record.name);
      if (record.kind == CallKind::kEventRecord || record.kind == CallKind::kEventWait ||
          record.kind == CallKind::kCopy)
        names.emplace_back(callKindName(record.kind));
    }
    return names;
  }

  at::Tensor received;
};

TEST_F(HandOffDeclarationTest, DeclaresTheGiversEndBeforeItsEventAndTheTakersBeforeItsWait) {
  const Seen seen;
  const std::vector<LogRecord> records = handOver(4);
  // The copy is on the giver's device: between two events of its own with the taker's stream.
  EXPECT_EQ(order(records),
            (std::vector<std::string>{"given", "event_record", "taken", "taken", "event_wait", "event_record",
                                      "event_wait", "copy", "event_record", "event_wait"}));
  std::vector<LogRecord> ends;
  for (const LogRecord& record : records)
    if (record.kind == CallKind::kHandOff) ends.push_back(record);
  ASSERT_EQ(ends.size(), 3u);
  for (const LogRecord& end : ends) {
    EXPECT_EQ(end.object, ends[0].object);
    EXPECT_EQ(end.bytes, 32);
  }
  EXPECT_EQ(ends[0].device, tinyDevice(0).index());
  EXPECT_EQ(ends[1].device, tinyDevice(4).index());
  EXPECT_EQ(ends[2].device, tinyDevice(0).index());
}

TEST_F(HandOffDeclarationTest, OnOneDeviceTheTakersStreamAloneTakes) {
  const Seen seen;
  EXPECT_EQ(order(handOver(0)), (std::vector<std::string>{"given", "event_record", "taken", "event_wait"}));
}

TEST_F(HandOffDeclarationTest, DeclaresWhatIsNotWaitedForTheSame) {
  Seen seen;
  seen.waits = false;
  EXPECT_EQ(order(handOver(0)), (std::vector<std::string>{"given", "event_record", "taken"}));
}

TEST_F(HandOffDeclarationTest, DeclaresNothingWhereNobodyLooks) {
  EXPECT_EQ(order(handOver(0)), (std::vector<std::string>{"event_record", "event_wait"}));
  EXPECT_EQ(received.sum().item<float>(), 8);
}

}  // namespace
}  // namespace redraft::model
