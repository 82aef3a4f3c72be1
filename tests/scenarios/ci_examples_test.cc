// The example workflows of docs/ci: they parse, and what they call exists.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/scenarios/program.h"
#include "tests/support/command_output.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

using testing_support::outputOf;
using testing_support::pythonWith;

const std::string kExamples = std::string(kSourceFolder) + "/docs/ci/";
const std::string kCommands = std::string(kSourceFolder) + "/tests/scenarios/ci_commands.py";

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> matchesOf(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.insert(at->str(1));
  return found;
}

class CiExamplesTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> commands(const std::string& python) const {
    const auto output = outputOf(python + " " + kCommands + " " + kExamples + GetParam());
    EXPECT_EQ(output.status, 0) << output.text;
    return linesOf(output.text);
  }
  /// Options and formats that `redraft SUBCOMMAND --help` does not name.
  void expectKnown(const std::string& subcommand, const std::string& command) const {
    const std::string help = runRedraft(folder_.path(), {subcommand, "--help"}).out;
    for (const std::string& option : matchesOf(command, R"((?:^|[ "])(--[a-z-]+))"))
      EXPECT_NE(help.find(option), std::string::npos) << option << " of: " << command;
    for (const std::string& format : matchesOf(command, R"(--format ([a-z]+))"))
      EXPECT_TRUE(matchesOf(help, "\\b(" + format + ")\\b").contains(format)) << format;
  }

  testing_support::TempFolder folder_;
};

TEST_P(CiExamplesTest, CallsOnlyWhatExists) {
  const std::string python = pythonWith("yaml", "REDRAFT_YAML_PYTHON");
  if (python.empty()) GTEST_SKIP() << "no python has yaml (Debian: python3-yaml)";
  const std::string makefile = readFile(std::string(kSourceFolder) + "/Makefile");
  std::set<std::string> targets;
  for (const std::string& command : commands(python)) {
    std::smatch match;
    if (std::regex_search(command, match, std::regex(R"(^make ([a-z-]+))"))) {
      targets.insert(match[1]);
      EXPECT_NE(makefile.find("\n" + match[1].str() + ":"), std::string::npos) << command;
      if (match[1] == "run") expectKnown("run", command);
    }
    if (std::regex_search(command, match, std::regex(R"(bin/redraft ([a-z]+))"))) expectKnown(match[1], command);
    for (const std::string& file : matchesOf(command, "--known-failures ([^ \"]+)"))
      EXPECT_TRUE(fileExists(std::string(kSourceFolder) + "/" + file)) << file;
  }
  EXPECT_TRUE(targets.contains("test")) << "the tests are called";
  EXPECT_TRUE(targets.contains("run")) << "the suite is called";
}

TEST_P(CiExamplesTest, HoldsToThePublishedSchemaOfItsHost) {
  const char* validator = std::getenv("REDRAFT_CHECK_JSONSCHEMA");
  if (validator == nullptr) GTEST_SKIP() << "REDRAFT_CHECK_JSONSCHEMA names no check-jsonschema (PyPI)";
  const std::string schema =
      std::string(GetParam()).starts_with("github") ? "vendor.github-workflows" : "vendor.gitlab-ci";
  const auto output =
      outputOf(std::string(validator) + " --builtin-schema " + schema + " " +
               (schema == "vendor.gitlab-ci" ? "--data-transform gitlab-ci " : "") + kExamples + GetParam());
  EXPECT_EQ(output.status, 0) << output.text;
}

INSTANTIATE_TEST_SUITE_P(Hosts, CiExamplesTest, ::testing::Values("github-actions.yml", "gitlab-ci.yml"),
                         [](const auto& parameter) { return std::string(parameter.param).substr(0, 6); });

TEST(CiKnownFailuresTest, TheExampleIsRead) {
  const testing_support::TempFolder folder;
  const Outcome outcome =
      runRedraft(folder.path(), {"run", "no-such-scenario", "--known-failures", kExamples + "known-failures.json"});
  EXPECT_NE(outcome.err.find("selects no scenario"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace redraft::scenarios
