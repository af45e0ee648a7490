#include <cstdio>

#include <rtcg/runtime.h>

int main() {
  std::puts(rtcg::runtime::all_devices().empty() ? "no device" : "correct");
}
