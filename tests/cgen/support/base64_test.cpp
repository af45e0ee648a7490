#include "rtcg/cgen/support/base64.h"

#include <gtest/gtest.h>

namespace rtcg {
namespace {

// RFC 4648, section 10.
TEST(Base64, EncodesTheExamplesOfTheRfc) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, DecodesWhatItEncodes) {
  std::string bytes;
  for (int i = 0; i < 259; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(Base64, RefusesOtherTexts) {
  EXPECT_EQ(from_base64("Zg="), std::nullopt);
  EXPECT_EQ(from_base64("Zm9v\n"), std::nullopt);
  EXPECT_EQ(from_base64("Z==="), std::nullopt);
  EXPECT_EQ(from_base64("Zm*v"), std::nullopt);
}

}  // namespace
}  // namespace rtcg
