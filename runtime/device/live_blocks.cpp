#include "rtcg/runtime/device/live_blocks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime::detail {

namespace {

constexpr int most_frames = 32;
constexpr int own_frames = 2;  // LiveBlocks::add and the pool's allocate

struct Free {
  void operator()(char* text) const { std::free(text); }
};

std::string name_of_frame(void* address) {
  Dl_info info = {};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return fmt::format("{}", address);
  }
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (info.dli_sname == nullptr) {
    return fmt::format("{}+{:#x}", info.dli_fname,
                       at - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  }
  int status = 0;
  const std::unique_ptr<char, Free> plain(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status));
  return fmt::format("{}+{:#x} in {}", plain != nullptr ? plain.get() : info.dli_sname,
                     at - reinterpret_cast<std::uintptr_t>(info.dli_saddr), info.dli_fname);
}

}  // namespace

bool LiveBlocks::are_wanted() {
  return environment_switch("RTCG_POOL_TRACE");
}

void LiveBlocks::add(DeviceAddress address, std::size_t size_bytes) {
  void* frames[most_frames];
  const int count = ::backtrace(frames, most_frames);
  Stack stack(frames + std::min(own_frames, count), frames + count);
  const std::lock_guard lock(mutex_);
  blocks_.insert_or_assign(address, Block{size_bytes, std::move(stack)});
}

void LiveBlocks::remove(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.erase(address);
}

void LiveBlocks::sum_up(std::map<Stack, Total>& totals) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, block] : blocks_) {
    Total& total = totals[block.stack];
    ++total.blocks;
    total.bytes += block.size_bytes;
  }
}

std::string to_text(const std::map<LiveBlocks::Stack, LiveBlocks::Total>& totals) {
  std::vector<std::pair<LiveBlocks::Stack, LiveBlocks::Total>> sorted(totals.begin(), totals.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return left.second.bytes > right.second.bytes;
  });
  std::string text;
  for (const auto& [stack, total] : sorted) {
    text +=
        fmt::format("{} blocks of {} bytes together, allocated by\n", total.blocks, total.bytes);
    for (void* frame : stack) {
      text += fmt::format("    {}\n", name_of_frame(frame));
    }
  }
  return text;
}

}  // namespace rtcg::runtime::detail
