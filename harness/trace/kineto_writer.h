#pragma once
// Writes traces as Kineto JSON, which Perfetto, HTA and torch.profiler's users open; one file a device.

#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/trace.h"

namespace redraft::harness {

/// The records of file `file` of a trace, with `file`'s own head. What Kineto has no event for (contexts, streams,
/// modules, allocations, races) becomes metadata that viewers pass over; readKineto() reads all of it back.
std::string kinetoText(const Trace& trace, std::size_t file);

/// One trace a device, each with the calls that issued its work: HTA takes a file for a rank, and merges devices that
/// share one. Records of no device go to the device that their thread worked on last, or to the first. Ranges
/// ProfilerStep#N are added where records have steps, and an empty one at the end: HTA drops the last.
std::vector<Trace> splitByDevice(const Trace& trace);

/// splitByDevice(), each written as FOLDER/device-N.kineto.json; the names. Throws Error(kEnvironment).
std::vector<std::string> writeKinetoFiles(const Trace& trace, const std::string& folder);

}  // namespace redraft::harness
