#include "rtcg/cgen/support/error.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg {
namespace {

TEST(Error, TextEndsWithTheCode) {
  const InvalidInput error("layer.function.reason", "found 'a', 'b' would be right");
  EXPECT_STREQ(error.what(), "found 'a', 'b' would be right [layer.function.reason]");
  EXPECT_EQ(error.message(), "found 'a', 'b' would be right");
}

// Who reads what() as C does would lose the rest.
TEST(Error, TextHasNoZeroBytes) {
  const InvalidInput error("layer.function.reason", std::string("'a\0\0b' is no text", 17));
  EXPECT_STREQ(error.what(), "'a\\0\\0b' is no text [layer.function.reason]");
}

TEST(Error, DeviceErrorKeepsApiAndStatus) {
  const DeviceError error("layer.function.reason", "cannot allocate 8 bytes", "cuMemAlloc_v2",
                          "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(error.message(),
            "cannot allocate 8 bytes: cuMemAlloc_v2 returned CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(error.api(), "cuMemAlloc_v2");
  EXPECT_EQ(error.status(), "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST(Error, FailedInternalRequirementNamesThePlace) {
  EXPECT_ERROR("internal", [] {
    require_internal(1 + 1 == 3, "arithmetic");
    return 0;
  }());
  require_internal(true, "nothing");
}

}  // namespace
}  // namespace rtcg
