#pragma once
// A happens-before check over streams and host threads, by vector clocks (Fidge, Mattern; the rules for reads and
// writes are FastTrack's, PLDI'09). Two accesses to one range, one of them a write, without an order between them are a
// race, though the simulator ran them one after the other. What orders:
//   - a stream's work among itself; an event: what was before its record with what follows a wait for it;
//   - a host thread that waits (for a stream, an event, a context): what it waited for with all that it issues later,
//     on any stream;
//   - publish() and observe(): what the giver knew to be done with all that the taker issues later.
// A host thread is a role wherever its work runs (autograd's threads run backward for the role that waits for them), or
// the calling thread where there is no role. One that appears knows what any host knows by then, for whoever started
// it.
// Thread-safe. False negatives: that last rule; what kernels touch without saying so; ranges that were dropped
// (kMaxRanges). False alarms: an order that the program makes and does not publish.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/driver.h"
#include "devices/host_mark.h"
#include "devices/sim/address_map.h"

namespace redraft::devices {

struct RaceSide {
  std::string work;   // kernel, or "copy"
  std::string range;  // name of the touch
  std::uint64_t stream = 0;
  int device = -1;
  Origin origin;
  bool written = false;
};

struct Race {
  RaceSide earlier;
  RaceSide later;
  std::size_t bytes = 0;  // common to both
  std::string describe() const;
};

class RaceCheck {
 public:
  /// Index for the calls below.
  std::size_t addStream(std::uint64_t stream, std::uint64_t context, int device);

  // Of the calling host thread.
  Clock record(std::size_t stream);                   // the event that it records on the stream
  void wait(std::size_t stream, const Clock& event);  // it makes the stream wait for an event
  void synchronized(std::size_t stream);              // it waited for all of a stream
  void synchronized(const Clock& event);              // it waited for an event
  void synchronizedContext(std::uint64_t context);    // it waited for all streams of a context
  void publish(HostMark& mark);                       // what it knows joins what the mark holds
  void observe(const HostMark& mark);                 // it knows what the mark holds

  /// Notes what a launch or copy touches; at most one race a touch.
  std::vector<Race> work(std::size_t stream, const std::string& name, std::span<const MemoryTouch> touches);
  /// The range was freed.
  void forget(Address begin, std::size_t bytes);

 private:
  static constexpr std::size_t kMaxRanges = 1u << 18;

  struct Work {
    std::string name;
    std::size_t stream = 0;
    std::uint64_t epoch = 0;
    Origin origin;
  };
  struct Access {
    std::shared_ptr<const Work> work;
    const char* range = "";
  };
  struct Range {
    Address end = 0;
    Access write;               // work is null: none seen
    std::vector<Access> reads;  // since that write, the newest of each stream
  };
  struct StreamInfo {
    std::uint64_t id = 0;
    std::uint64_t context = 0;
    int device = -1;
    Clock clock;
  };

  /// What the calling host thread knows to be done.
  Clock& host();
  /// The stream's clock, once the calling host thread issues something on it.
  Clock& issue(std::size_t stream);
  void touch(const std::shared_ptr<const Work>& work, const MemoryTouch& touch, std::vector<Race>& races);
  /// Makes ranges begin at `begin` and end at `end`, and covers the gaps between.
  void split(Address begin, Address end);
  void cut(Address at);
  const Access* conflict(const Range& range, std::size_t stream, bool written) const;
  bool ordered(const Access& access, std::size_t stream) const;
  RaceSide side(const Access& access, bool written) const;

  std::mutex mutex_;
  std::vector<StreamInfo> streams_;
  std::unordered_map<std::uint64_t, Clock> hosts_;
  std::map<Address, Range> ranges_;
};

}  // namespace redraft::devices
