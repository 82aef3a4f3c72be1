#include "base/text.h"

#include <gtest/gtest.h>

#include "base/characters.h"
#include "base/formatted.h"

namespace redraft {
namespace {

TEST(NearestTest, FindsTheCandidateWithTheFewestEdits) {
  const std::vector<std::string> keys{"steps", "seed", "schedule", "topology"};
  EXPECT_EQ(nearest("stesp", keys), "steps");
  EXPECT_EQ(nearest("step", keys), "steps");
  EXPECT_EQ(nearest("schedul", keys), "schedule");
  EXPECT_EQ(nearest("topologies", keys), "topology");
  EXPECT_EQ(nearest("seed", keys), "seed");
}

TEST(NearestTest, FindsNothingWhereEverythingIsFar) {
  EXPECT_EQ(nearest("drafters", {"seed", "queue_depth"}), "");
  EXPECT_EQ(nearest("abc", {"xyz"}), "");
  EXPECT_EQ(nearest("abc", {}), "");
}

TEST(NearestTest, AllowsTwoEditsInShortWordsAndAThirdInLongOnes) {
  EXPECT_EQ(nearest("abcd", {"abxy"}), "abxy");
  EXPECT_EQ(nearest("abcd", {"axyz"}), "");
  EXPECT_EQ(nearest("abcdefghijkl", {"abcdefghWXYZ"}), "abcdefghWXYZ");
  EXPECT_EQ(nearest("abcdefghijkl", {"abcdefgVWXYZ"}), "");
}

TEST(NearestTest, CountsASwapOfNeighboursAsOneEdit) { EXPECT_EQ(nearest("abdc", {"abxx", "abcd"}), "abcd"); }

TEST(NearestTest, TakesTheFirstOfEquallyNear) { EXPECT_EQ(nearest("cat", {"bat", "hat"}), "bat"); }

TEST(NearestTest, GivesUpOnWordsThatNobodyTyped) {
  const std::string huge(1 << 20, 'a');
  EXPECT_EQ(nearest(huge, {huge}), "");
  EXPECT_EQ(nearest("a", {huge}), "");
}

TEST(GlobTest, StarCrossesSlashesAndMayMatchNothing) {
  EXPECT_TRUE(globMatch("dual-drafter*", "dual-drafter"));
  EXPECT_TRUE(globMatch("dual-drafter*", "dual-drafter/half-fix"));
  EXPECT_TRUE(globMatch("*fix", "dual-drafter/half-fix"));
  EXPECT_TRUE(globMatch("*drafter*fix*", "dual-drafter/half-fix"));
  EXPECT_TRUE(globMatch("**", ""));
  EXPECT_FALSE(globMatch("*fix", "dual-drafter/half-fixed"));
}

TEST(GlobTest, MatchesTheWholeText) {
  EXPECT_FALSE(globMatch("dual", "dual-drafter"));
  EXPECT_FALSE(globMatch("drafter", "dual-drafter"));
  EXPECT_TRUE(globMatch("", ""));
  EXPECT_FALSE(globMatch("", "a"));
  EXPECT_FALSE(globMatch("?", ""));
}

TEST(GlobTest, MatchesClassesRangesAndTheirNegation) {
  EXPECT_TRUE(globMatch("drafter[01]", "drafter1"));
  EXPECT_FALSE(globMatch("drafter[01]", "drafter2"));
  EXPECT_TRUE(globMatch("target[0-5]", "target5"));
  EXPECT_FALSE(globMatch("target[!0-5]", "target5"));
  EXPECT_TRUE(globMatch("target[!0-5]", "target6"));
  EXPECT_TRUE(globMatch("a[-x]b", "a-b"));
  EXPECT_TRUE(globMatch("a[]]b", "a]b"));
}

TEST(GlobTest, TakesAnUnclosedBracketLiterally) {
  EXPECT_TRUE(globMatch("a[b", "a[b"));
  EXPECT_FALSE(globMatch("a[b", "ab"));
  EXPECT_TRUE(globMatch("[", "["));
  EXPECT_TRUE(globMatch("[!", "[!"));
}

TEST(GlobTest, TriesALaterPlaceForTheLastStar) { EXPECT_TRUE(globMatch("*ab?c", "abxabyc")); }

TEST(GlobTest, ManyStarsDoNotTakeExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(globMatch(pattern + "b", std::string(5000, 'a')));
}

TEST(TextTest, SplitIsTheInverseOfJoin) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(join(split("a,,b,", ','), ","), "a,,b,");
  EXPECT_EQ(join({"a", "b", "a"}, "::"), "a::b::a");
  EXPECT_EQ(join({}, ","), "");
}

TEST(PrintableTest, EscapesControlCharactersAndBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("é ≤ 😀"), "é ≤ 😀");
}

TEST(PrintableTest, ShortensTheMiddleWithoutCuttingACharacter) {
  EXPECT_EQ(printable(std::string(100, 'a') + std::string(100, 'b'), 10), "aaaaa…bbbbb");
  EXPECT_EQ(printable("éééééééééé", 6), "é…é");
}

TEST(Utf8Test, RefusesOverlongFormsSurrogatesAndValuesBeyondUnicode) {
  EXPECT_TRUE(isUtf8("plain, é, ≤, 😀, \xf4\x8f\xbf\xbf, \xed\x9f\xbf"));
  for (const char* bad : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5",
                          "\x80", "\xe2\x82", "\xc3("}) {
    EXPECT_FALSE(isUtf8(bad)) << printable(bad);
  }
}

TEST(CharactersTest, DigitsAreThoseOfAsciiAndAtLeastOne) {
  EXPECT_TRUE(isDigits("0123456789"));
  EXPECT_FALSE(isDigits(""));
  EXPECT_FALSE(isDigits("-1"));
  EXPECT_FALSE(isDigits("1 "));
  EXPECT_FALSE(isDigits("٣"));
}

TEST(CharactersTest, BlankIsNothingOrWhiteSpaceAlone) {
  EXPECT_TRUE(isBlank(""));
  EXPECT_TRUE(isBlank(" \t\r\n"));
  EXPECT_FALSE(isBlank(" . "));
}

TEST(FormattedTest, IsWhatPrintfPrintsHoweverLong) {
  EXPECT_EQ(formatted("%s: %+.2f %%, %zu", "A", 1.5, std::size_t{7}), "A: +1.50 %, 7");
  EXPECT_EQ(formatted("%s", ""), "");
  const std::string name(5000, 'x');
  EXPECT_EQ(formatted("<%s>", name.c_str()), "<" + name + ">");
}

}  // namespace
}  // namespace redraft
