#pragma once
// What several checks ask of a trace: the call behind device work, and the role and step of a record.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/affinity/contract.h"
#include "harness/affinity/correlation_table.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

class TraceIndex {
 public:
  /// Both outlive this; `contract` may be null.
  TraceIndex(const Trace& trace, const Contract* contract);

  const Trace& trace() const { return trace_; }
  const Contract* contract() const { return contract_; }

  /// The API call that issued device work; null when it is not there.
  const TraceRecord* callOf(const TraceRecord& work) const {
    const std::uint32_t call = callOf_[numberOf(work)];
    return call == kNone ? nullptr : &trace_.records[call];
  }
  /// True when device work of the call's correlation is there.
  bool hasWork(const TraceRecord& call) const;
  /// Calls that share process, correlation and API with an earlier one.
  const std::vector<const TraceRecord*>& ambiguousCalls() const { return ambiguous_; }

  /// The record's own role, else its call's, else its thread's by the contract, else the one that takes the rest; "".
  const std::string& roleOf(const TraceRecord& record) const { return *roles_[numberOf(record)].name; }
  const RoleContract* contractOf(const TraceRecord& record) const { return roles_[numberOf(record)].contract; }
  /// The record's own step, else that of the ProfilerStep#N range that its call began in; -1: in none.
  std::int64_t stepOf(const TraceRecord& record) const { return steps_[numberOf(record)]; }
  bool hasSteps() const { return hasSteps_; }
  bool hasRoles() const { return hasRoles_; }
  std::int64_t processOf(const TraceRecord& record) const { return processes_[record.file]; }

  /// Records of kind `kind`, in order.
  template <class Use>
  void each(RecordKind kind, Use&& use) const {
    for (const TraceRecord& record : trace_.records)
      if (record.kind == kind) use(record);
  }
  template <class Use>
  void eachWork(Use&& use) const {
    for (const TraceRecord& record : trace_.records)
      if (isDeviceWork(record.kind)) use(record);
  }
  std::size_t count(RecordKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  /// True when there is one, or when every file says that it was captured: then none is none.
  bool captured(RecordKind kind) const;

 private:
  struct StepRange {
    std::int64_t begin = 0, end = 0, step = 0;
  };

  struct Role {
    const std::string* name;
    const RoleContract* contract = nullptr;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Records are the trace's own, or one that belongs to none (the gate's): that has neither call nor role nor step.
  std::size_t numberOf(const TraceRecord& record) const;
  void indexCalls();
  void indexSteps();
  void indexRoles();
  Role roleNamed(const std::string& name) const;
  Role roleOfThread(const TraceRecord& call) const;
  std::int64_t stepAt(const TraceRecord& call) const;

  const Trace& trace_;
  const Contract* contract_;
  std::vector<std::int64_t> processes_;  // of each file
  std::vector<std::size_t> counts_;      // by kind
  CorrelationTable calls_;
  std::vector<const TraceRecord*> ambiguous_;
  std::map<std::uint16_t, std::vector<StepRange>> ranges_;  // by file
  bool hasSteps_ = false, hasRoles_ = false;
  // Of each record, and one more for a record that is none of the trace's.
  std::vector<std::uint32_t> callOf_;
  std::vector<Role> roles_;
  std::vector<std::int64_t> steps_;
};

}  // namespace redraft::harness
