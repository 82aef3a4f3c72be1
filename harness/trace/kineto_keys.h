#pragma once
// The names that Kineto JSON uses, and ours beside them, declared once for the reader and the writer.

#include <array>
#include <string_view>
#include <utility>

#include "harness/trace/trace.h"

namespace redraft::harness::kineto {

/// Categories of events and what they become; of several for one kind, the writer takes the first.
inline constexpr std::array<std::pair<std::string_view, RecordKind>, 11> kCategories = {{
    {"kernel", RecordKind::kKernel},
    {"gpu_memcpy", RecordKind::kCopy},
    {"gpu_memset", RecordKind::kSet},
    {"cuda_runtime", RecordKind::kApi},
    {"cuda_driver", RecordKind::kApi},
    {"cuda_sync", RecordKind::kSync},
    {"cuda_event", RecordKind::kEvent},
    {"user_annotation", RecordKind::kAnnotation},
    {"overhead", RecordKind::kOverhead},
    {"gpu_memcpy", RecordKind::kPeerCopy},           // told apart by fromDevice
    {"cpu_instant_event", RecordKind::kAllocation},  // of these only "[memory]"
}};

/// A metadata event of this name is a record that Kineto has no event for (context, stream, module, allocation, race):
/// viewers pass over it.
inline constexpr std::string_view kRecordEvent = "redraft_record";
/// The top-level key for what a capture says of itself.
inline constexpr std::string_view kCaptureKey = "redraftCapture";
inline constexpr std::string_view kMemoryEvent = "[memory]";

/// Members of TraceRecord that are numbers in `args`. The first spelling of a member is the one that is written.
template <class Visitor>
void visitNumbers(Visitor&& visit) {
  visit("device", &TraceRecord::device);
  visit("context", &TraceRecord::context);
  visit("stream", &TraceRecord::stream);
  visit("correlation", &TraceRecord::correlation);
  visit("bytes", &TraceRecord::bytes);
  visit("fromDevice", &TraceRecord::fromDevice);
  visit("toDevice", &TraceRecord::toDevice);
  visit("graph id", &TraceRecord::graph);
  visit("step", &TraceRecord::step);
  visit("handoff", &TraceRecord::handoff);
  visit("event_id", &TraceRecord::object);
  visit("event_sync_id", &TraceRecord::link);
  visit("thread", &TraceRecord::thread);
  visit("flags", &TraceRecord::flags);
}

/// Lists of three numbers in `args` of a kernel: TraceRecord::shape.
inline constexpr std::string_view kGrid = "grid", kBlock = "block";

/// An overhead's correlation: under the usual key HTA joins it to the call's kernel, and counts that twice.
inline constexpr std::string_view kOverheadCall = "of call";

/// Other spellings that Kineto uses for the same members.
template <class Visitor>
void visitOtherNumbers(Visitor&& visit) {
  visit(kOverheadCall, &TraceRecord::correlation);
  visit("inDevice", &TraceRecord::device);
  visit("inContext", &TraceRecord::context);
  visit("wait_on_cuda_event_id", &TraceRecord::object);
  visit("wait_on_cuda_event_record_corr_id", &TraceRecord::link);
  visit("Device Id", &TraceRecord::device);
  visit("Bytes", &TraceRecord::bytes);
  visit("Addr", &TraceRecord::object);
}

/// Members that are texts in `args`.
template <class Visitor>
void visitTexts(Visitor&& visit) {
  visit("role", &TraceRecord::role);
  visit("phase", &TraceRecord::phase);
  visit("detail", &TraceRecord::detail);
  visit("Process Group Name", &TraceRecord::detail);
}

}  // namespace redraft::harness::kineto
