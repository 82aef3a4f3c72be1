// A10–A12: collectives, modules and graphs.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

bool isNccl(const std::string& name) { return name.starts_with("nccl"); }

bool loadsCode(const std::string& overhead) {
  return overhead.find("Lazy Function Loading") != std::string::npos ||
         overhead.find("Module Loading") != std::string::npos;
}

/// The contexts that code is loaded in, and where it may run: a green context runs what its device's other contexts
/// hold.
class LoadedCode {
 public:
  explicit LoadedCode(const TraceIndex& index) : index_(index) {
    index.each(RecordKind::kFunction, [&](const TraceRecord& function) {
      loadedIn_[function.name].insert({index.processOf(function), function.context});
    });
    index.each(RecordKind::kContext, [&](const TraceRecord& context) {
      contexts_[{index.processOf(context), context.context}] = {context.device, isGreen(index, context)};
    });
  }

  bool empty() const { return loadedIn_.empty(); }
  /// The context that a kernel should have run in; -1: it ran where it may, or nothing says where.
  std::int32_t elsewhere(const TraceRecord& kernel) const {
    const auto loaded = loadedIn_.find(kernel.name);
    if (loaded == loadedIn_.end()) return -1;
    const bool fits = std::any_of(loaded->second.begin(), loaded->second.end(),
                                  [&](const Key& context) { return mayRun(kernel, context); });
    return fits ? -1 : loaded->second.begin()->second;
  }

 private:
  using Key = std::pair<std::int64_t, std::int32_t>;  // process, context
  struct Context {
    std::int32_t device = -1;
    bool green = false;
  };

  bool mayRun(const TraceRecord& kernel, const Key& loaded) const {
    const Key own{index_.processOf(kernel), kernel.context};
    if (own == loaded) return true;
    const auto here = contexts_.find(own), there = contexts_.find(loaded);
    return here != contexts_.end() && there != contexts_.end() && here->second.green && !there->second.green &&
           own.first == loaded.first && here->second.device == there->second.device;
  }

  const TraceIndex& index_;
  std::map<StringId, std::set<Key>> loadedIn_;
  std::map<Key, Context> contexts_;
};

/// The first step after each role's warm-up, which begins with its own first step: one that has less to do may begin
/// later than the others.
std::map<std::string, std::int64_t> firstWarmSteps(const TraceIndex& index) {
  const std::int64_t warmup = index.contract() == nullptr ? Contract().warmupSteps : index.contract()->warmupSteps;
  std::map<std::string, std::int64_t> first;
  for (const TraceRecord& record : index.trace().records) {
    const std::int64_t step = index.stepOf(record);
    if (step < 0) continue;
    const auto [found, added] = first.try_emplace(index.roleOf(record), step + warmup);
    if (!added) found->second = std::min(found->second, step + warmup);
  }
  return first;
}

/// The device of each communicator of each process; finds ranks that share a GPU.
std::map<std::pair<std::int64_t, std::string>, std::int32_t> declaredCommunicators(const TraceIndex& index,
                                                                                   CheckBuilder& check) {
  std::map<std::pair<std::int64_t, std::string>, std::int32_t> deviceOf;
  const auto& files = index.trace().files;
  for (const TraceFile& file : files) {
    TraceRecord none;
    none.file = static_cast<std::uint16_t>(&file - files.data());
    for (const CommunicatorInfo& each : file.capture.communicators) {
      if (!deviceOf.emplace(std::pair{index.processOf(none), each.name}, each.device).second) continue;  // seen
      std::map<std::string, std::size_t> rankOf;
      for (std::size_t rank = 0; rank < each.gpus.size(); ++rank) {
        const auto [first, added] = rankOf.emplace(each.gpus[rank], rank);
        if (!added)
          check.violation(none, "ranks " + std::to_string(first->second) + " and " + std::to_string(rank) +
                                    " of communicator " + each.name + " both have " + each.gpus[rank]);
      }
    }
  }
  return deviceOf;
}

}  // namespace

TraceCheck checkNccl(const TraceIndex& index) {
  CheckBuilder check(index, "A10", "nccl", "a communicator's kernels run on its GPU, and its ranks have one each");
  std::map<std::pair<std::int64_t, std::string>, std::int32_t> deviceOf = declaredCommunicators(index, check);
  const bool any = !deviceOf.empty();
  std::size_t kernels = 0, unnamed = 0;
  bool undeclared = false;
  index.each(RecordKind::kKernel, [&](const TraceRecord& kernel) {
    if (!isNccl(index.trace().text(kernel.name))) return;
    ++kernels;
    if (kernel.detail == 0) {
      ++unnamed;
      return;
    }
    const std::string& name = index.trace().text(kernel.detail);
    const auto [known, added] = deviceOf.try_emplace({index.processOf(kernel), name}, kernel.device);
    undeclared |= added;
    if (known->second != kernel.device)
      check.violation(kernel, "on " + deviceText(kernel.device) + ", and communicator " + name + " is on " +
                                  deviceText(known->second));
  });
  if (kernels == 0 && !any)
    return index.captured(RecordKind::kKernel) ? check.done() : check.notComputable("the trace has no kernels");
  if (unnamed > 0)
    return check.notComputable(std::to_string(unnamed) + " of " + std::to_string(kernels) +
                               " NCCL kernels do not say which communicator is theirs");
  if (undeclared)
    return check.notComputable(
        "whether two ranks share a GPU, this trace does not say: ordinals are each process's own");
  return check.done();
}

TraceCheck checkModule(const TraceIndex& index) {
  CheckBuilder check(index, "A11", "module",
                     "code runs in the contexts that it was loaded in, and is loaded before the first warm step");
  const LoadedCode code(index);
  index.each(RecordKind::kKernel, [&](const TraceRecord& kernel) {
    if (const std::int32_t context = code.elsewhere(kernel); context >= 0)
      check.violation(kernel, "ran in context " + std::to_string(kernel.context) + ", and was loaded in context " +
                                  std::to_string(context));
  });
  const std::map<std::string, std::int64_t> warm = firstWarmSteps(index);
  index.each(RecordKind::kOverhead, [&](const TraceRecord& overhead) {
    if (!loadsCode(index.trace().text(overhead.name)) || index.stepOf(overhead) < 0) return;
    if (index.stepOf(overhead) >= warm.at(index.roleOf(overhead)))
      check.violation(overhead, "code was loaded in step " + std::to_string(index.stepOf(overhead)));
  });
  return code.empty() ? check.notComputable("the trace does not say in which context code was loaded") : check.done();
}

TraceCheck checkGraph(const TraceIndex& index) {
  CheckBuilder check(index, "A12", "graph", "the nodes of a graph keep to its declared devices");
  std::map<std::pair<std::int64_t, std::int32_t>, std::set<std::int32_t>> devicesOf;
  const auto isNode = [](const TraceRecord& work) { return work.graph > 0 && work.device >= 0; };
  index.eachWork([&](const TraceRecord& work) {
    if (isNode(work)) devicesOf[{index.processOf(work), work.graph}].insert(work.device);
  });
  if (devicesOf.empty()) return check.notComputable("the trace has no graph nodes");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  const auto& declared = index.contract()->graphs;
  if (declared.empty()) return check.notComputable("the contract declares no devices of graphs");
  index.eachWork([&](const TraceRecord& work) {
    if (!isNode(work)) return;
    const auto& used = devicesOf.at({index.processOf(work), work.graph});
    const bool fits = std::any_of(declared.begin(), declared.end(), [&](const std::vector<std::int32_t>& set) {
      return std::all_of(used.begin(), used.end(),
                         [&](std::int32_t device) { return std::find(set.begin(), set.end(), device) != set.end(); });
    });
    if (!fits)
      check.violation(work, "a node of graph " + std::to_string(work.graph) + " on " + deviceText(work.device) +
                                "; all its nodes are on " + listText({used.begin(), used.end()}));
  });
  return check.done();
}

}  // namespace redraft::harness
