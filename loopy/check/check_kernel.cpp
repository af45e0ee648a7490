#include "rtcg/loopy/check/check_kernel.h"

#include "rtcg/loopy/check/check_images.h"
#include "rtcg/loopy/check/check_inames.h"
#include "rtcg/loopy/check/check_statements.h"

namespace rtcg::loopy {

void check_kernel(const Kernel& kernel) {
  check_inames(kernel);  // first: the others ask for the domains of inames
  check_statements(kernel);
  check_images(kernel);
}

}  // namespace rtcg::loopy
