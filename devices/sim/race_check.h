#pragma once
// A happens-before check over streams, by vector clocks (Fidge, Mattern; the rules for reads and writes are
// FastTrack's, PLDI'09). Work on one stream is ordered; an event orders what was before its record with what follows a
// wait for it; a synchronisation by any thread orders what it waited for with all that is issued later. The last rule
// is deliberate: threads hand results on through queues that this layer does not see, and a clock for each thread would
// report all of those. Two accesses to one range, one of them a write, without such an order are a race, though the
// simulator ran them one after the other. Thread-safe. False negatives: what kernels touch without saying so, and
// ranges that were dropped (kMaxRanges).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/driver.h"
#include "devices/sim/address_map.h"

namespace redraft::devices {

using Clock = std::vector<std::uint64_t>;  // by stream index; missing entries are 0

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

  Clock clock(std::size_t stream) const;              // for an event that is recorded
  void wait(std::size_t stream, const Clock& event);  // the stream waits for an event
  void synchronized(std::size_t stream);              // a thread waited for all of a stream
  void synchronized(const Clock& event);              // a thread waited for an event
  void synchronizedContext(std::uint64_t context);    // a thread waited for all streams of a context

  /// Notes what a launch or copy touches; at most one race a touch.
  std::vector<Race> work(std::size_t stream, const std::string& name, const std::vector<MemoryTouch>& touches);
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

  void touch(const std::shared_ptr<const Work>& work, const MemoryTouch& touch, std::vector<Race>& races);
  /// Makes ranges begin at `begin` and end at `end`, and covers the gaps between.
  void split(Address begin, Address end);
  void cut(Address at);
  const Access* conflict(const Range& range, std::size_t stream, bool written) const;
  bool ordered(const Access& access, std::size_t stream) const;
  RaceSide side(const Access& access, bool written) const;

  mutable std::mutex mutex_;
  std::vector<StreamInfo> streams_;
  Clock completed_;
  std::map<Address, Range> ranges_;
};

}  // namespace redraft::devices
