#pragma once
// A person, or lines that were piped in, going through what runs would change of their goldens.

#include <functional>
#include <istream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "golden/review.h"

namespace redraft::scenarios {

/// The keys of one review that were accepted.
struct Accepted {
  std::set<std::string> keys;
  bool any = false;  // also true of a merge conflict that was settled with no value changed
};

/// Every series is asked about; an answer is a line. Nothing is written here.
class ReviewSession {
 public:
  using Print = std::function<void(const std::string&)>;

  ReviewSession(std::istream& in, Print print) : in_(in), print_(std::move(print)) {}

  /// Goes through the reviews, `heads` being a line of each: where its golden stands. One answer each, in order. Throws
  /// Error(kBadInput) when the input ends before the answers do.
  std::vector<Accepted> ask(const std::vector<golden::Review>& reviews, const std::vector<std::string>& heads);

  /// A sentence, asked for until there is one.
  std::string askReason();
  /// True for yes.
  bool confirm(const std::string& question);

 private:
  enum class Next { kSeries, kScenario, kEnd };

  std::string readLine();
  Next askSeries(const golden::Review& review, std::size_t index, Accepted& accepted);
  Next askWhole(const golden::Review& review, Accepted& accepted);

  std::istream& in_;
  Print print_;
};

/// What globs accept: `keys` are matched against a key ("step/3/loss") and against "SCENARIO:KEY", `scenarios` against
/// names. Throws Error(kBadInput) naming a glob that matches nothing.
std::vector<Accepted> acceptByGlobs(const std::vector<golden::Review>& reviews, const std::vector<std::string>& keys,
                                    const std::vector<std::string>& scenarios);

}  // namespace redraft::scenarios
