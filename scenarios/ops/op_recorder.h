#pragma once
// Records what every operation of some steps takes and makes, as digests (golden/op_log.h): an observer of LibTorch's
// dispatcher and of autograd, registered while it lives. Operations within an operation are its own affair. The order
// is that of a role's work: its thread, autograd's for it, and its exchange's are each counted by themselves where they
// run at the same time, so that the numbers are the same in every run.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "devices/origin.h"
#include "golden/op_log.h"
#include "scenarios/ops/tensor_digest.h"

namespace redraft::scenarios {

struct OpRecorderOptions {
  std::int64_t first = 0, last = 0;  // steps
  /// Also of inputs that a recorded operation made: stronger evidence, for two to three times the bytes. Without it
  /// such an input is known by what its maker's record says.
  bool allInputs = true;
};

/// One at a time in a process. Made before the threads that it observes start.
class OpRecorder {
 public:
  /// `digests` outlives this.
  OpRecorder(const OpRecorderOptions& options, TensorDigests& digests);
  ~OpRecorder();
  OpRecorder(const OpRecorder&) = delete;
  OpRecorder& operator=(const OpRecorder&) = delete;

  /// On the thread of the role whose replica it is. Operations on them bear their names.
  void replicaReady(const std::vector<at::Tensor>& parameters, const std::vector<std::string>& names);
  /// On a drafter's thread, when it begins a step: its parameters as they are.
  void stepBegan();

  /// After the observed threads have ended; waits for the devices. Throws Error(kEnvironment) where a digest could not
  /// be taken for a reason other than room.
  golden::OpLog take();

 private:
  struct OpenOp;
  struct Mark {
    std::string type;
    DigestTicket digest;
  };
  struct Recorded {
    golden::OpRecord record;
    std::vector<Mark> inputs, outputs;
  };
  struct Forward {  // what a backward operation is of
    std::string op, module;
  };
  struct Replica {
    std::vector<at::Tensor> parameters;
    std::vector<std::string> names;
    std::size_t nextUpdate = 0;  // of the optimiser, in this step
  };
  using LaneKey = std::tuple<std::int64_t, std::string, std::string>;
  using NodeKey = std::pair<std::uint64_t, std::int64_t>;  // thread and sequence number of a forward

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call);
  static void end(const at::RecordFunction& call, at::ObserverContext* context);

  bool wants(const devices::Origin& origin) const;
  std::unique_ptr<OpenOp> open(const at::RecordFunction& call, const devices::Origin& origin);
  void close(const at::RecordFunction& call, OpenOp& op);
  void addInputs(const at::RecordFunction& call, OpenOp& op);
  void addOutput(OpenOp& op, const at::Tensor& tensor);
  void place(OpenOp& op);
  void rememberForward(const at::RecordFunction& call, const OpenOp& op);
  void append(Recorded recorded);
  DigestTicket takeDigest(const at::Tensor& tensor);
  std::string parameterOf(const at::Tensor& tensor) const;
  bool made(const at::Tensor& tensor) const;
  void failed(const std::string& why);

  const OpRecorderOptions options_;
  TensorDigests& digests_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;

  mutable std::shared_mutex namesMutex_;
  std::unordered_map<const void*, std::string> names_;  // of parameters, by their memory
  std::map<devices::RoleId, Replica> replicas_;

  mutable std::mutex mutex_;
  std::map<LaneKey, std::vector<Recorded>> lanes_;
  std::map<NodeKey, Forward> forwards_;
  std::unordered_set<const void*> made_;  // memory that recorded operations have filled
  std::string failure_;
};

}  // namespace redraft::scenarios
