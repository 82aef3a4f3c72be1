#include "scenarios/ops/op_recorder.h"

#include <ATen/SequenceNumber.h>

#include <exception>
#include <string_view>

#include "base/error.h"
#include "model/module_scope.h"
#include "scenarios/ops/op_call.h"

namespace redraft::scenarios {

namespace {

using devices::Phase;

std::atomic<OpRecorder*> current{nullptr};

/// A node of autograd that the thread is in.
struct OpenNode {
  std::string name;
  std::uint64_t thread = 0;  // of its forward
  std::int64_t sequence = -1;
};

struct ThreadState {
  int depth = 0;  // of operations within operations
  std::vector<OpenNode> nodes;
};
thread_local ThreadState thread;

/// What runs beside a role's own work has numbers of its own: its exchange's thread, and copies that are made ahead
/// when the queue has something.
const char* laneOf(Phase phase) {
  if (phase == Phase::kHandOff) return "hand_off";
  return phase == Phase::kAllReduce ? "all_reduce" : "train";
}

std::string directionOf(Phase phase, const std::string& node) {
  switch (phase) {
    case Phase::kData:
    case Phase::kTargetForward:
    case Phase::kMaskBuild:
    case Phase::kDrafterForward:
    case Phase::kLoss:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kRecompute:  // the function once more, and then the gradients of what it did
      return node.find("RecomputeNode") != std::string::npos ? "recompute" : "backward";
    default:
      return "";
  }
}

bool isOurs(const std::string& op) { return op.starts_with("redraft::"); }

/// What autograd's engine puts around each node: no operation, though it has the scope of one.
bool isFrame(const at::RecordFunction& call) { return std::string_view(call.name()).starts_with("autograd::engine::"); }

const void* memoryOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl()->data() : nullptr;
}

std::string moduleOfParameter(const std::string& name) {
  constexpr std::string_view kWeight = ".weight";
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : name;
}

/// "torch::autograd::CppNode<redraft::model::(anonymous namespace)::RmsNormFunction>" as "RmsNormFunction".
std::string nodeText(const std::string& name) {
  const std::size_t from = name.rfind("::");
  std::string text = from == std::string::npos ? name : name.substr(from + 2);
  while (!text.empty() && text.back() == '>') text.pop_back();
  return text;
}

}  // namespace

struct OpRecorder::OpenOp : at::ObserverContext {
  Recorded recorded;
  const OpFacts* facts = nullptr;
  std::vector<at::Tensor> written;
  std::vector<at::Tensor> read;  // all inputs, to tell views from new memory
  std::int64_t sequence = -1;    // of the autograd node that this operation's forward makes
  bool makesNode = false;        // by itself, not within a function of ours that made it
};

OpRecorder::OpRecorder(const OpRecorderOptions& options, TensorDigests& digests)
    : options_(options), digests_(digests) {
  OpRecorder* none = nullptr;
  REDRAFT_CHECK(current.compare_exchange_strong(none, this), "one recorder a process");
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                      .needsInputs(true)
                                      .needsOutputs(true)
                                      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OpRecorder::~OpRecorder() {
  if (handle_ != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle_);
  current.store(nullptr);
}

void OpRecorder::replicaReady(const std::vector<at::Tensor>& parameters, const std::vector<std::string>& names) {
  REDRAFT_CHECK(parameters.size() == names.size(), "a name a parameter");
  const std::unique_lock lock(namesMutex_);
  for (std::size_t i = 0; i < parameters.size(); ++i) names_[memoryOf(parameters[i])] = names[i];
  replicas_[devices::currentOrigin().role] = {parameters, names, 0};
}

void OpRecorder::stepBegan() {
  const devices::Origin origin = devices::currentOrigin();
  Replica* replica = nullptr;
  {
    const std::shared_lock lock(namesMutex_);
    const auto found = replicas_.find(origin.role);
    if (found == replicas_.end()) return;
    replica = &found->second;  // of this role, which alone touches it
  }
  replica->nextUpdate = 0;
  if (origin.step < options_.first || origin.step > options_.last) return;
  for (std::size_t i = 0; i < replica->parameters.size(); ++i) {
    Recorded state;
    state.record.step = origin.step;
    state.record.role = devices::roleName(origin.role);
    state.record.phase = state.record.lane = "state";
    state.record.op = golden::kStateOp;
    state.record.module = replica->names[i];
    const at::Tensor& parameter = replica->parameters[i];
    state.outputs.push_back({typeText(parameter.scalar_type(), parameter.sizes()), takeDigest(parameter)});
    append(std::move(state));
  }
}

bool OpRecorder::wants(const devices::Origin& origin) const {
  switch (origin.phase) {
    case Phase::kNone:
    case Phase::kEvaluate:
    case Phase::kCheckpoint:
      return false;
    default:
      return origin.role != 0 && options_.first <= origin.step && origin.step <= options_.last;
  }
}

std::unique_ptr<at::ObserverContext> OpRecorder::begin(const at::RecordFunction& call) {
  if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    thread.nodes.push_back({call.name(), call.forwardThreadId(), call.seqNr()});
    return nullptr;
  }
  if (isFrame(call)) return nullptr;
  if (thread.depth++ > 0) return nullptr;
  OpRecorder* const self = current.load();
  const devices::Origin origin = devices::currentOrigin();
  if (self == nullptr || !self->wants(origin)) return nullptr;
  try {
    return self->open(call, origin);
  } catch (const std::exception& error) {
    self->failed(error.what());
    return nullptr;
  }
}

void OpRecorder::end(const at::RecordFunction& call, at::ObserverContext* context) {
  if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (!thread.nodes.empty()) thread.nodes.pop_back();
    return;
  }
  if (isFrame(call)) return;
  --thread.depth;
  OpRecorder* const self = current.load();
  if (self == nullptr || context == nullptr) return;
  try {
    self->close(call, static_cast<OpenOp&>(*context));
  } catch (const std::exception& error) {
    self->failed(error.what());
  }
}

std::unique_ptr<OpRecorder::OpenOp> OpRecorder::open(const at::RecordFunction& call, const devices::Origin& origin) {
  auto op = std::make_unique<OpenOp>();
  op->facts = &factsOf(call);
  golden::OpRecord& record = op->recorded.record;
  record.step = origin.step;
  record.role = devices::roleName(origin.role);
  record.phase = devices::phaseName(origin.phase);
  record.lane = laneOf(origin.phase);
  record.op = op->facts->name;
  record.direction = directionOf(origin.phase, thread.nodes.empty() ? "" : thread.nodes.back().name);
  record.scalars = scalarsText(inputsOf(call));
  op->makesNode = call.seqNr() >= 0;
  const auto next = static_cast<std::int64_t>(at::sequence_number::peek());
  op->sequence = op->makesNode ? call.seqNr() : next - 1;
  addInputs(call, *op);
  place(*op);
  return op;
}

void OpRecorder::addInputs(const at::RecordFunction& call, OpenOp& op) {
  const c10::ArrayRef<const c10::IValue> arguments = inputsOf(call);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool written = i < op.facts->writes.size() && op.facts->writes[i];
    eachTensor(arguments[i], [&](const at::Tensor& tensor) {
      op.read.push_back(tensor);
      if (written) op.written.push_back(tensor);
      if (op.facts->allocates || (written && op.facts->overwrites)) return;
      Mark mark{typeText(tensor.scalar_type(), tensor.sizes()), {}};
      if (options_.allInputs || !made(tensor)) mark.digest = takeDigest(tensor);
      op.recorded.inputs.push_back(std::move(mark));
    });
  }
}

/// The module: of the parameter that the operation works on, or of its forward, or the one whose code calls.
void OpRecorder::place(OpenOp& op) {
  golden::OpRecord& record = op.recorded.record;
  for (const at::Tensor& tensor : op.read) {
    const std::string name = parameterOf(tensor);
    if (!name.empty()) record.module = moduleOfParameter(name);
    if (!name.empty()) break;
  }
  if (record.op == "redraft::adamw_step") {  // masters in float32 are not the parameters themselves
    const std::shared_lock lock(namesMutex_);
    const auto found = replicas_.find(devices::currentOrigin().role);
    if (found != replicas_.end() && found->second.nextUpdate < found->second.names.size())
      record.module = moduleOfParameter(found->second.names[found->second.nextUpdate++]);
  }
  if (record.direction == "backward" && !thread.nodes.empty()) {
    const OpenNode& node = thread.nodes.back();
    record.of = nodeText(node.name);
    const std::lock_guard lock(mutex_);
    const auto forward = forwards_.find({node.thread, node.sequence});
    if (forward != forwards_.end()) {
      record.of = forward->second.op;
      if (record.module.empty()) record.module = forward->second.module;
    }
  }
  if (record.module.empty()) record.module = model::currentModule();
}

void OpRecorder::close(const at::RecordFunction& call, OpenOp& op) {
  if (op.facts->allocates) {
    const std::lock_guard lock(mutex_);
    for (const c10::IValue& value : call.outputs())
      eachTensor(value, [&](const at::Tensor& tensor) { made_.erase(memoryOf(tensor)); });
    return;
  }
  for (const at::Tensor& tensor : op.written) addOutput(op, tensor);
  for (const c10::IValue& value : call.outputs()) {
    eachTensor(value, [&](const at::Tensor& tensor) {
      for (const at::Tensor& input : op.read)
        if (shareMemory(input, tensor)) return;  // a view, or what was written
      addOutput(op, tensor);
    });
  }
  if (op.recorded.outputs.empty()) return;  // a view: nothing was computed
  rememberForward(call, op);
  append(std::move(op.recorded));
}

void OpRecorder::addOutput(OpenOp& op, const at::Tensor& tensor) {
  op.recorded.outputs.push_back({typeText(tensor.scalar_type(), tensor.sizes()), takeDigest(tensor)});
  if (options_.allInputs) return;
  const std::lock_guard lock(mutex_);
  made_.insert(memoryOf(tensor));
}

void OpRecorder::rememberForward(const at::RecordFunction& call, const OpenOp& op) {
  const golden::OpRecord& record = op.recorded.record;
  if ((record.direction != "forward" && record.direction != "recompute") || op.sequence < 0) return;
  if (op.makesNode && static_cast<std::int64_t>(at::sequence_number::peek()) <= op.sequence) return;
  const NodeKey key{call.threadId(), op.sequence};
  const std::lock_guard lock(mutex_);
  const auto [entry, added] = forwards_.try_emplace(key, Forward{record.op, record.module});
  // A function of ours makes its node first and then calls; what it calls before the kernel is none of its own.
  if (!added && !op.makesNode && isOurs(record.op) && !isOurs(entry->second.op))
    entry->second = {record.op, record.module};
}

void OpRecorder::append(Recorded recorded) {
  const std::lock_guard lock(mutex_);
  const golden::OpRecord& record = recorded.record;
  std::vector<Recorded>& lane = lanes_[{record.step, record.role, record.lane}];
  recorded.record.index = static_cast<std::int64_t>(lane.size());
  lane.push_back(std::move(recorded));
}

DigestTicket OpRecorder::takeDigest(const at::Tensor& tensor) { return digests_.take(tensor); }

std::string OpRecorder::parameterOf(const at::Tensor& tensor) const {
  const std::shared_lock lock(namesMutex_);
  const auto found = names_.find(memoryOf(tensor));
  return found == names_.end() ? "" : found->second;
}

bool OpRecorder::made(const at::Tensor& tensor) const {
  const std::lock_guard lock(mutex_);
  return made_.contains(memoryOf(tensor));
}

void OpRecorder::failed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
}

golden::OpLog OpRecorder::take() {
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
  digests_.finish();
  if (!failure_.empty()) throw Error(ErrorKind::kEnvironment, "op digests", failure_, "run it without --op-digests");
  golden::OpLog log;
  log.header.first = options_.first;
  log.header.last = options_.last;
  const auto settle = [&](const std::vector<Mark>& marks, std::vector<golden::TensorMark>& into) {
    for (const Mark& mark : marks) {
      const auto value = digests_.valueOf(mark.digest);
      if (mark.digest.state == DigestTicket::State::kFailed) ++log.header.missing;
      into.push_back({mark.type, value ? golden::digestText(*value) : ""});
    }
  };
  for (auto& [key, lane] : lanes_) {
    for (Recorded& recorded : lane) {
      settle(recorded.inputs, recorded.record.inputs);
      settle(recorded.outputs, recorded.record.outputs);
      log.ops.push_back(std::move(recorded.record));
    }
  }
  lanes_.clear();
  return log;
}

}  // namespace redraft::scenarios
