#pragma once
// `"perturbation": {"unit": "attention"}`: what compiled attention reads and makes, forward and backward, is moved by
// as much as a class that computes it in bfloat16 may be off. How the run answers is what bounds across such classes
// are made of (docs/goldens.md, "Tolerance").

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "devices/origin.h"

namespace redraft::scenarios {

/// x · (1 ± 2⁻⁷), in place: by two unit roundoffs of bfloat16, up or down by a sign keyed by (key, place). float32 or
/// bfloat16, which rounds the product to itself. Computed on the tensor's device; nobody waits for it.
void moveByTwoRoundoffs(const at::Tensor& x, std::uint64_t key);

/// While it lives, every call of compiled attention on a device: q, k and v before it, the output behind it; in
/// backward the output's gradient before it, and those of q, k and v behind it. Signs are keyed by (seed, role, step,
/// phase, number of the call), never by thread. Generation is left alone: keys and values outlive a call there.
class AttentionMoves {
 public:
  /// Before the run's threads. One a process.
  explicit AttentionMoves(std::uint64_t seed);
  ~AttentionMoves();
  AttentionMoves(const AttentionMoves&) = delete;
  AttentionMoves& operator=(const AttentionMoves&) = delete;

 private:
  struct Call;
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call);
  static void end(const at::RecordFunction& call, at::ObserverContext* context);
  /// Of the calling role's next call.
  std::uint64_t nextKey();

  const std::uint64_t seed_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  std::mutex mutex_;
  std::map<std::pair<devices::RoleId, devices::Phase>, std::pair<std::int64_t, std::uint64_t>> calls_;  // step, number
};

}  // namespace redraft::scenarios
