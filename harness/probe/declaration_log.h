#pragma once
// Ends of hand-offs as the program declares them (devices/declarations.h), with the streams by CUPTI's numbers.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "devices/declarations.h"
#include "devices/origin.h"
#include "harness/probe/cupti_api.h"

namespace redraft::harness {

struct DeclaredEnd {
  std::uint32_t handOff = 0;
  bool taken = false;
  std::int64_t timeNs = 0;  // the capture's clock
  std::int64_t thread = -1;
  devices::Origin origin;
  std::int32_t device = -1, context = -1, stream = -1;  // stream -1: the context's null stream
  std::int64_t bytes = 0;
};

/// Thread-safe.
class DeclarationLog {
 public:
  /// Both outlive this.
  DeclarationLog(const CuptiApi& api, devices::Origin (*currentOrigin)());

  std::uint32_t given(const devices::StreamPlace& stream, std::int64_t bytes);
  void taken(std::uint32_t handOff, const devices::StreamPlace& stream, std::int64_t bytes);

  std::vector<DeclaredEnd> take();
  /// Ends on streams that CUPTI does not know.
  std::int64_t lost() const;

 private:
  /// A stream's numbers; asked once, because streams of a run stay.
  struct Known {
    devices::StreamPlace place;
    std::int32_t context = -1, stream = -1;
  };

  void add(DeclaredEnd end, const devices::StreamPlace& stream);
  std::optional<Known> find(const devices::StreamPlace& stream);  // under the lock
  std::optional<Known> ask(const devices::StreamPlace& stream) const;

  const CuptiApi& api_;
  devices::Origin (*const currentOrigin_)();
  mutable std::mutex mutex_;
  std::vector<Known> known_;
  std::vector<DeclaredEnd> ends_;
  std::uint32_t handOffs_ = 0;
  std::int64_t lost_ = 0;
};

}  // namespace redraft::harness
