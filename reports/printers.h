#pragma once
// The printers. Each is a pure function from the result model to text; adding one is adding a function here, a file
// beside this one, and a row in kFormats.

#include <cstddef>
#include <string>
#include <string_view>

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
/// not run or has not ended an error, SKIPPED and a known failure skipped. Each entry of the known failures that has
/// expired is a failed test case more. system-out holds what the console shows.
std::string printJunit(const SuiteResult& suite);

/// A summary for a pull request or a step summary: at most 900 KiB, because some hosts drop a larger one whole.
std::string printMarkdown(const SuiteResult& suite);

/// SARIF 2.1.0: a result for each issue (reports/issue.h).
std::string printSarif(const SuiteResult& suite);

/// GitLab's code-quality report, likewise.
std::string printCodeQuality(const SuiteResult& suite);

/// One HTML file that needs no network (reports/html/page.h), of the result model alone: a suite that has ended is
/// drawn with what its runs left by harness::writePages.
std::string printHtml(const SuiteResult& suite);

inline constexpr std::size_t kMaxAnnotations = 10;

/// GitHub's annotations, the worst first, at most kMaxAnnotations lines; the last then says how many more there are.
std::string printAnnotations(const SuiteResult& suite);

/// Google Benchmark's JSON: the time a token, of each role of the cases that passed.
std::string printBenchmark(const SuiteResult& suite);

/// `redraft run --format NAME[=FILE]`.
struct Format {
  const char* name;
  const char* file;  // that every suite leaves in its folder; "": only where it is asked for
  std::string (*print)(const SuiteResult&);
};
inline constexpr Format kFormats[] = {
    {"json", "report.json", printJson}, {"junit", "junit.xml", printJunit}, {"markdown", "summary.md", printMarkdown},
    {"html", "report.html", printHtml}, {"sarif", "", printSarif},          {"gitlab", "", printCodeQuality},
    {"github", "", printAnnotations},   {"benchmark", "", printBenchmark}};

/// nullptr: there is none of that name.
const Format* findFormat(std::string_view name);

/// Reads a report that printJson wrote. Throws Error(kBadInput).
SuiteResult loadReport(const std::string& path);

}  // namespace redraft::reports
