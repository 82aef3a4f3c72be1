#include "reports/layout.h"

#include <gtest/gtest.h>

namespace redraft::reports {
namespace {

TEST(LayoutTest, ColumnsAlignByCharactersNotBytes) {
  EXPECT_EQ(alignColumns({{"a", "–", "x"}, {"bbb", "12", ""}}, " ", {1}),
            (std::vector<std::string>{"a    – x", "bbb 12"}));
}

TEST(LayoutTest, UnitsFollowTheSize) {
  EXPECT_EQ(formatSeconds(0.4211), "0.42 s");
  EXPECT_EQ(formatSeconds(9.999), "10.0 s");
  EXPECT_EQ(formatSeconds(99.96), "1 min 40 s");
  EXPECT_EQ(formatSeconds(245.2), "4 min 05 s");
  EXPECT_EQ(formatRate(870), "870 tok/s");
  EXPECT_EQ(formatRate(19400), "19.4 Ktok/s");
  EXPECT_EQ(formatRate(2.5e6), "2.5 Mtok/s");
  EXPECT_EQ(formatBytes(3 << 20), "3.0 MiB");
}

TEST(LayoutTest, XmlHoldsNoByteThatXmlForbids) {
  EXPECT_EQ(escapeXml("a<b>&\"\x01\xff\n"), "a&lt;b&gt;&amp;&quot;\xEF\xBF\xBD\xEF\xBF\xBD\n");
  EXPECT_EQ(escapeXml("é–\xEF\xBF\xBE"), "é–\xEF\xBF\xBD");
}

TEST(LayoutTest, MarkdownCellsCannotEndTheirRow) { EXPECT_EQ(escapeMarkdown("a|b\n`c`"), "a\\|b \\`c\\`"); }

}  // namespace
}  // namespace redraft::reports
