#pragma once
// What the program declares (devices/declarations.h), with the streams by CUPTI's numbers.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "devices/declarations.h"
#include "devices/origin.h"
#include "harness/probe/cupti_api.h"

namespace redraft::harness {

/// An end of a hand-off, or a stream that is a role's own (`handOff` 0).
struct DeclaredEnd {
  std::uint32_t handOff = 0;
  bool taken = false;
  std::int64_t timeNs = 0;  // the capture's clock
  std::int64_t thread = -1;
  devices::Origin origin;
  std::int32_t device = -1, context = -1, stream = -1;  // stream -1: the context's null stream
  std::int64_t bytes = 0;
};

struct DeclaredCollective {
  std::string communicator, what;
  std::int64_t beganNs = 0, endedNs = 0, thread = -1, bytes = 0;
  devices::Origin origin;
};

/// What was declared, each in order.
struct Declared {
  std::vector<DeclaredEnd> ends, own;  // of hand-offs; streams that are a role's own
  std::vector<DeclaredCollective> collectives;
  std::vector<devices::Communicator> communicators;
};

/// Thread-safe.
class DeclarationLog final : public devices::Declarations {
 public:
  /// Both outlive this.
  DeclarationLog(const CuptiApi& api, devices::Origin (*currentOrigin)());

  std::uint32_t given(const devices::StreamPlace& stream, std::int64_t bytes) override;
  void taken(std::uint32_t handOff, const devices::StreamPlace& stream, std::int64_t bytes) override;
  void owns(const devices::StreamPlace& stream) override;
  void joined(const devices::Communicator& communicator) override;
  void issued(const devices::CollectiveCall& call) override;

  Declared take();
  /// Declared on streams that CUPTI does not know.
  std::int64_t lost() const;

 private:
  /// A stream's numbers; asked once, because streams of a run stay.
  struct Known {
    devices::StreamPlace place;
    std::int32_t context = -1, stream = -1;
  };

  /// To `list`, with what the calling thread and CUPTI know.
  void add(std::vector<DeclaredEnd>& list, DeclaredEnd end, const devices::StreamPlace& stream);
  std::optional<Known> find(const devices::StreamPlace& stream);  // under the lock
  std::optional<Known> ask(const devices::StreamPlace& stream) const;

  const CuptiApi& api_;
  devices::Origin (*const currentOrigin_)();
  mutable std::mutex mutex_;
  std::vector<Known> known_;
  Declared declared_;
  std::uint32_t handOffs_ = 0;
  std::int64_t lost_ = 0;
};

}  // namespace redraft::harness
