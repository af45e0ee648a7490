// Generated modules are verified in full in all test programs, whatever the build type.
#include <cstdlib>

namespace {

const int is_switched_on = ::setenv("RTCG_VERIFY", "1", 0);

}  // namespace
