#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <functional>

namespace rtcg::loopy {

/// Calls `work(begin, end)` for pieces of [0, count), on as many threads as there are cores, and
/// returns when all are done.
///
/// @param piece  length of all pieces except the last
/// @throws  what `work` throws
void in_pieces(std::size_t count, std::size_t piece,
               const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace rtcg::loopy
