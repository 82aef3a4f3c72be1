#pragma once
// Adding a check is adding a function here, a file beside this one, and a row in kDetectors.

#include <optional>
#include <string>
#include <vector>

#include "harness/evidence.h"
#include "reports/result.h"

namespace redraft::harness {

using Findings = std::vector<reports::Finding>;

Findings detectTracingFlag(const Evidence& evidence, const Findings& before);
Findings detectKernelCache(const Evidence& evidence, const Findings& before);
Findings detectMaskOnOtherDevice(const Evidence& evidence, const Findings& before);
Findings detectRecomputeOnOtherDevice(const Evidence& evidence, const Findings& before);
Findings detectMissingWait(const Evidence& evidence, const Findings& before);  // in the trace: a cause, not a symptom
Findings detectStreamRace(const Evidence& evidence, const Findings& before);
Findings detectForeignAccess(const Evidence& evidence, const Findings& before);
Findings detectReplicaDrift(const Evidence& evidence, const Findings& before);
Findings detectStrayAllocation(const Evidence& evidence, const Findings& before);
Findings detectGoldenMismatch(const Evidence& evidence, const Findings& before);
Findings detectNoProgress(const Evidence& evidence, const Findings& before);
Findings detectCrash(const Evidence& evidence, const Findings& before);
Findings detectLostRank(const Evidence& evidence, const Findings& before);
Findings detectOtherException(const Evidence& evidence, const Findings& before);   // what no other event explains
Findings detectTraceViolations(const Evidence& evidence, const Findings& before);  // last: events name the cause

struct DetectorRow {
  Findings (*detect)(const Evidence&, const Findings& before);
};
inline constexpr DetectorRow kDetectors[] = {
    {detectTracingFlag},     {detectKernelCache},    {detectMaskOnOtherDevice}, {detectRecomputeOnOtherDevice},
    {detectMissingWait},     {detectStreamRace},     {detectForeignAccess},     {detectReplicaDrift},
    {detectStrayAllocation}, {detectGoldenMismatch}, {detectNoProgress},        {detectCrash},
    {detectLostRank},        {detectOtherException}, {detectTraceViolations},
};

/// Adds to each finding of the events whether the trace shows the same: agrees, contradicts, or cannot tell.
void weighWithTrace(const Evidence& evidence, Findings& findings);

// Common to several.

/// A finding placed where the event was.
reports::Finding findingAt(const char* id, const EventHead& head, std::optional<int> device = std::nullopt);

/// The exception that ended the run: the first one recorded.
Seen<ExceptionSeen> firstException(const Evidence& evidence);

/// "400 CUDA_ERROR_INVALID_HANDLE".
std::string statusText(int status, const std::string& name);

/// The lines of an exception's text that say what is wrong: without the stack that LibTorch appends, at most six.
std::vector<std::string> messageLines(const std::string& what);

/// What FX says when a compiled function is called while its flag is set.
bool isTracingFlagText(const std::string& text);

}  // namespace redraft::harness
