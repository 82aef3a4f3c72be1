#include "reports/html/page.h"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "reports/html/embedded.h"
#include "reports/html/single_page.h"
#include "reports/known_failures.h"
#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

/// In the order in which they run: the library, what the others use, what draws, and last what starts it all.
constexpr const char* kScripts[] = {"chart.min.js", "dom.js",      "format.js",   "charts.js",     "heatmap.js",
                                    "lanes.js",     "timeline.js", "matrices.js", "sections.js",   "spent.js",
                                    "case.js",      "cases.js",    "bench.js",    "divergence.js", "app.js"};

const html::Embedded& embedded(std::string_view name) {
  for (const html::Embedded& file : html::embeddedFiles())
    if (file.name == name) return file;
  checkFailed(__FILE__, __LINE__, "embedded", "no file " + std::string(name) + " was built in");
}

int hexDigit(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

/// Base64 of the bytes that hex digits stand for.
std::string base64(std::string_view hex) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<unsigned>(hexDigit(digit));
    for (count += 4; count >= 6; count -= 6) out += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kAlphabet[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

/// The content security policy: nothing is loaded, and only the embedded scripts and style run, known by their hashes.
std::string policy() {
  std::string scripts;
  for (const char* name : kScripts) scripts += " 'sha256-" + base64(embedded(name).sha256) + "'";
  return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-" +
         base64(embedded("style.css").sha256) + "'; script-src" + scripts;
}

/// JSON for a script element: no text in it can end the element or open a comment.
std::string forScript(const Json& json) {
  const std::string text = oneLine(json);
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char each : text) {
    if (each == '<')
      out += "\\u003c";
    else
      out += each;
  }
  return out;
}

Json shownOf(const CaseResult& result) {
  return {{"mark", markOf(result)},
          {"audit_cell", auditCell(result.audit)},
          {"audit", result.audit ? auditLine(*result.audit) : ""},
          {"pace", paceLine(result.figures.pace)}};
}

Json suiteJson(const SuiteResult& suite) {
  Json json = Json::parse(printJson(suite));
  for (std::size_t i = 0; i < suite.cases.size(); ++i) json["cases"][i]["shown"] = shownOf(suite.cases[i]);
  json["summary"] = summaryLine(suite);
  json["green"] = isGreen(suite);
  json["known_problems"] = Json::array();
  for (const KnownFailureUse& use : suite.known)
    if (const std::string problem = problemOf(use); !problem.empty()) json["known_problems"].push_back(problem);
  return json;
}

std::string dataOf(const SuiteResult& suite, const PageDetails& details) {
  Json data = Json::object();
  data["schema"] = kPageSchema;
  data["suite"] = suiteJson(suite);
  data["details"] = recordToJson(details);
  return forScript(data);
}

std::string scriptsText() {
  std::string out;
  for (const char* name : kScripts) out += std::string("<script>") + embedded(name).text + "</script>\n";
  return out;
}

std::string titleOf(const SuiteResult& suite) { return "Redraft: " + summaryLine(suite); }

/// The template with each {{name}} replaced; what is put in is not looked at again.
std::string fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) return out.append(text);
    const auto value = values.find(std::string(text.substr(open + 2, close - open - 2)));
    REDRAFT_CHECK(value != values.end(), "the template asks for what nobody gives");
    out.append(text.substr(0, open)).append(value->second);
    text.remove_prefix(close + 2);
  }
}

std::string pageOf(const std::string& title, const std::string& plain, const std::string& data) {
  return fill(embedded("template.html").text, {{"policy", policy()},
                                               {"title", escapeXml(title)},
                                               {"style", embedded("style.css").text},
                                               {"plain", escapeXml(plain)},
                                               {"data", data},
                                               {"scripts", scriptsText()}});
}

}  // namespace

std::string printPage(const SuiteResult& suite, const PageDetails& details) {
  return pageOf(titleOf(suite), printConsole(suite), dataOf(suite, details));
}

std::string printHtml(const SuiteResult& suite) {
  PageDetails details;
  details.notice =
      "This page was made while the suite ran; `redraft report` of its folder adds curves, timelines and trends.";
  return printPage(suite, details);
}

Json caseForPage(const CaseResult& result) {
  SuiteResult one;
  one.cases = {result};
  return suiteJson(one)["cases"][0];
}

std::string printSinglePage(const SinglePage& page) {
  Json data{{"schema", kPageSchema}};
  data[page.kind] = page.data;
  return pageOf("Redraft: " + page.title, page.plain, forScript(data));
}

std::size_t pageFrameBytes() { return pageOf("", "", "").size(); }

double rounded(double value, int digits) {
  if (!std::isfinite(value)) return value;
  return std::strtod(formatNumber(value, digits).c_str(), nullptr);
}

}  // namespace redraft::reports
