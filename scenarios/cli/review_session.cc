#include "scenarios/cli/review_session.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace redraft::scenarios {
namespace {

constexpr const char* kHelp =
    "  a  accept: the golden gets these values\n"
    "  s  skip: it keeps its own\n"
    "  A  accept all of this scenario, what was skipped too\n"
    "  S  skip the rest of this scenario\n"
    "  d  show every step of it\n"
    "  q  ask no more: what was accepted so far can then be written, or not\n";

void acceptSeries(const golden::ChangeSeries& series, Accepted& accepted) {
  for (const golden::Change& change : series.changes) accepted.keys.insert(change.key);
  accepted.any = true;
}

void acceptAll(const golden::Review& review, Accepted& accepted) {
  for (const golden::ChangeSeries& series : review.series) acceptSeries(series, accepted);
  accepted.any = true;
}

std::string details(const golden::ChangeSeries& series) {
  std::string text;
  for (const golden::Change& change : series.changes) text += "    " + change.key + ": " + describe(change) + "\n";
  return text;
}

std::string headOf(const golden::Review& review, const std::string& standing) {
  std::string text = review.scenario + ": ";
  if (!review.golden)
    text += "new, " + std::to_string(review.run.steps.size()) + " steps\n";
  else
    text += std::to_string(review.changes()) + " values in " + std::to_string(review.series.size()) +
            " series would change\n  its golden is " + standing + "\n";
  if (review.merged)
    text += "  a merge has left conflicts in it: " + printable(review.merged->ours) + " | " +
            printable(review.merged->theirs) + " → the run; skipping keeps " + printable(review.merged->ours) + "\n";
  return text;
}

bool matches(const std::string& glob, const std::string& text) { return glob == text || globMatch(glob, text); }

std::size_t markMatching(const golden::Review& review, const std::string& glob, Accepted& accepted) {
  std::size_t matched = 0;
  for (const golden::ChangeSeries& series : review.series)
    for (const golden::Change& change : series.changes) {
      if (!matches(glob, change.key) && !matches(glob, review.scenario + ":" + change.key)) continue;
      accepted.keys.insert(change.key);
      accepted.any = true;
      ++matched;
    }
  return matched;
}

[[noreturn]] void matchesNothing(const char* option, const std::string& glob, const std::vector<std::string>& names) {
  const std::string near = nearest(glob, names);
  throwBadInput(
      option, "\"" + printable(glob) + "\" matches nothing that would change",
      near.empty() ? "`redraft bless --review RUN --dry-run` lists what would" : "did you mean " + near + "?");
}

}  // namespace

std::string ReviewSession::readLine() {
  std::string line;
  if (!std::getline(in_, line))
    throwBadInput("standard input", "it ended before the review did; nothing was written", "start the review again");
  const std::size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

std::vector<Accepted> ReviewSession::ask(const std::vector<golden::Review>& reviews,
                                         const std::vector<std::string>& heads) {
  std::vector<Accepted> answers(reviews.size());
  for (std::size_t i = 0; i < reviews.size(); ++i) {
    print_(headOf(reviews[i], heads[i]));
    Next next = Next::kSeries;
    if (!reviews[i].whole.empty() || reviews[i].series.empty()) {
      next = askWhole(reviews[i], answers[i]);
    } else {
      for (std::size_t s = 0; s < reviews[i].series.size() && next == Next::kSeries; ++s)
        next = askSeries(reviews[i], s, answers[i]);
    }
    if (next == Next::kEnd) break;
  }
  return answers;
}

ReviewSession::Next ReviewSession::askSeries(const golden::Review& review, std::size_t index, Accepted& accepted) {
  const golden::ChangeSeries& series = review.series[index];
  print_("[" + std::to_string(index + 1) + "/" + std::to_string(review.series.size()) + "] " + describe(series) + "\n");
  for (;;) {
    print_("  a, s, A, S, d, q, ?: ");
    const std::string answer = readLine();
    if (answer == "a") acceptSeries(series, accepted);
    if (answer == "a" || answer == "s") return Next::kSeries;
    if (answer == "A") acceptAll(review, accepted);
    if (answer == "A" || answer == "S") return Next::kScenario;
    if (answer == "q") return Next::kEnd;
    print_(answer == "d" ? details(series) : kHelp);
  }
}

ReviewSession::Next ReviewSession::askWhole(const golden::Review& review, Accepted& accepted) {
  if (!review.whole.empty()) print_("  as a whole, or not: " + review.whole + "\n");
  for (;;) {
    print_("  A (accept all of it), S (skip it), q: ");
    const std::string answer = readLine();
    if (answer == "A") acceptAll(review, accepted);
    if (answer == "A" || answer == "S") return Next::kScenario;
    if (answer == "q") return Next::kEnd;
  }
}

std::string ReviewSession::askReason() {
  for (;;) {
    print_("why are these numbers right? ");
    std::string reason = readLine();
    if (!reason.empty()) return reason;
    print_("  a golden needs a reason: a sentence\n");
  }
}

bool ReviewSession::confirm(const std::string& question) {
  for (;;) {
    print_(question + " y, n: ");
    const std::string answer = readLine();
    if (answer == "y" || answer == "n") return answer == "y";
  }
}

std::vector<Accepted> acceptByGlobs(const std::vector<golden::Review>& reviews, const std::vector<std::string>& keys,
                                    const std::vector<std::string>& scenarios) {
  std::vector<Accepted> answers(reviews.size());
  std::vector<std::string> names, series;
  for (const golden::Review& review : reviews) {
    names.push_back(review.scenario);
    for (const golden::ChangeSeries& each : review.series) series.push_back(each.series);
  }
  for (const std::string& glob : scenarios) {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < reviews.size(); ++i)
      if (matches(glob, names[i])) acceptAll(reviews[i], answers[i]), ++matched;
    if (matched == 0) matchesNothing("--accept-scenario", glob, names);
  }
  for (const std::string& glob : keys) {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < reviews.size(); ++i) matched += markMatching(reviews[i], glob, answers[i]);
    if (matched == 0) matchesNothing("--accept", glob, series);
  }
  return answers;
}

}  // namespace redraft::scenarios
