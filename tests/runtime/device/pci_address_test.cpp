#include "rtcg/runtime/device/pci_address.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

TEST(PciAddress, IsReadAsToolsPrintIt) {
  const PciAddress address = {0, 0x1b, 0x1f, 7};
  EXPECT_EQ(to_string(address), "0000:1b:1f.7");
  for (const char* text : {"1b:1f.7", "0000:1b:1f.7", "00000000:1B:1F.7", "0:1b:1f.7"}) {
    EXPECT_EQ(parse_pci_address(text), address) << text;
  }
  EXPECT_EQ(parse_pci_address("10000:1b:1f.7"), (PciAddress{0x10000, 0x1b, 0x1f, 7}));
}

TEST(PciAddress, IsNotReadFromOtherTexts) {
  for (const char* text :
       {"",         ".",         ":",        ":.",       "host",        "cuda:0",
        "opencl:1", "1b",        "1b.0",     "1b:1f",    "1b:1f.",      ":1f.7",
        "1b:.7",    "1b:1f.8",   "1b:20.0",  "100:1f.0", "0:0:1b:1f.7", "0000:1b:1f.7 ",
        "-1:1f.0",  "0x1b:1f.0", ":1b:1f.7", "cuda:0.1", "1b.1f:7",     "100000000:1b:1f.7"}) {
    EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
  }
}

TEST(PciAddress, NamesADevice) {
  EXPECT_ERROR("runtime.device.not_found", Device::find("ffff:ff:1f.7"));
  for (const Device& each : all_devices()) {
    const std::optional<PciAddress> address = pci_address(each);
    EXPECT_EQ(address.has_value(), each.info().id.kind == BackendKind::cuda);
    if (address) {
      EXPECT_EQ(Device::find(to_string(*address)), each);
    }
  }
}

}  // namespace
}  // namespace rtcg::runtime
