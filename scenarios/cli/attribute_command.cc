#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "harness/timing/time_difference.h"
#include "harness/timing/time_split.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/run_traces.h"

namespace redraft::scenarios {
namespace {

class AttributeCommand : public Command {
 public:
  const char* name() const override { return "attribute"; }
  const char* help() const override {
    return "Where the time of a step went, device by device, and with B what got slower or faster from A to B. A and B "
           "are traces (Kineto JSON, as torch.profiler exports it, or compact), folders of them, or runs";
  }

  void declare(CLI::App& app) override {
    app.add_option("a", a_, "trace, folder or run")->required()->type_name("A");
    app.add_option("b", b_, "likewise: what changed since A")->type_name("B");
    app.add_option("--skip", skip_, "first steps to leave out; default: a quarter of them, at most 4")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--top", top_, "lines a device")->type_name("N")->capture_default_str();
    app.add_flag("--json", json_, "one JSON document on standard output");
  }

  int run() override {
    const harness::TimeSplit a = split(a_);
    if (b_.empty()) {
      print("split", recordToJson(a), harness::splitText(a, top_));
    } else {
      const harness::TimeSplit b = split(b_);
      const harness::TimeDifference difference = harness::differenceOf(a, b);
      if (difference.devices.empty())
        throwBadInput(b_, "has no device of " + a_ + "'s", "compare traces of the same devices");
      print("difference", recordToJson(difference), harness::differenceText(difference, top_));
    }
    return kExitAsExpected;
  }

 private:
  harness::TimeSplit split(const std::string& path) const { return splitOf(path, {skip_}); }

  void print(const char* what, Json record, const std::string& text) const {
    if (!json_) return printOut(text);
    Json document{{"schema", harness::kAttributionSchema}};
    document[what] = std::move(record);
    printOut(pretty(document));
  }

  std::string a_, b_;
  std::optional<std::int64_t> skip_;
  std::size_t top_ = 12;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeAttributeCommand() { return std::make_unique<AttributeCommand>(); }

}  // namespace redraft::scenarios
