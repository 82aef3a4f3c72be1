#pragma once
// The printers. Each is a pure function from the result model to text; adding one is adding a function here, a file
// beside this one, and a row in kFilePrinters. An HTML printer would be that too.

#include <cstddef>
#include <string>

#include "reports/result.h"

namespace redraft::reports {

struct ConsoleStyle {
  bool color = false;  // ANSI colours: only on a terminal
};

/// The verdict table, then the findings of every case that has any, each with cause, evidence, what is ruled out and
/// the command that replays it. Ends with the summary line.
std::string printConsole(const SuiteResult& suite, const ConsoleStyle& style = {});

/// What the table says of one case.
std::string printCase(const CaseResult& result, const ConsoleStyle& style = {});

/// One JSON document (redraft.report/1).
std::string printJson(const SuiteResult& suite);

/// JUnit XML, one test case a scenario: as expected is a success, an unexpected verdict a failure, a case that could
/// not run or has not ended an error, SKIPPED skipped. system-out holds what the console shows.
std::string printJunit(const SuiteResult& suite);

/// A summary for a pull request or a step summary: at most 900 KiB, because some hosts drop a larger one whole.
std::string printMarkdown(const SuiteResult& suite);

/// The files that every suite leaves in its folder.
struct FilePrinter {
  const char* file;
  std::string (*print)(const SuiteResult&);
};
inline constexpr FilePrinter kFilePrinters[] = {
    {"report.json", printJson}, {"junit.xml", printJunit}, {"summary.md", printMarkdown}};

/// Reads a report that printJson wrote. Throws Error(kBadInput).
SuiteResult loadReport(const std::string& path);

}  // namespace redraft::reports
