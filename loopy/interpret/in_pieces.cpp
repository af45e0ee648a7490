#include "rtcg/loopy/interpret/in_pieces.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace rtcg::loopy {

void in_pieces(std::size_t count, std::size_t piece,
               const std::function<void(std::size_t begin, std::size_t end)>& work) {
  constexpr std::size_t most_threads = 16;
  const std::size_t pieces = (count + piece - 1) / piece;
  std::atomic<std::size_t> next = 0;
  const auto take_pieces = [&] {
    for (std::size_t i = next++; i < pieces; i = next++) {
      work(i * piece, std::min((i + 1) * piece, count));
    }
  };
  const std::size_t threads =
      std::min<std::size_t>({pieces, most_threads, std::thread::hardware_concurrency()});
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      others.push_back(std::async(std::launch::async, take_pieces));
    } catch (const std::system_error&) {
      break;  // this thread does it all where the system refuses others
    }
  }
  take_pieces();
  for (std::future<void>& each : others) {
    each.get();
  }
}

}  // namespace rtcg::loopy
