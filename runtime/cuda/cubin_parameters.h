#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace rtcg::runtime::cuda {

/// How many bytes the parameters of each kernel of a cubin take, without the kernels that have
/// none. Empty for what is no cubin or is damaged. Drivers up to CUDA 13.0 do not tell it: they
/// refuse a question for the parameter after the last one, which compute-sanitizer reports.
[[nodiscard]] std::map<std::string, std::size_t> parameter_bytes(std::span<const std::byte> cubin);

}  // namespace rtcg::runtime::cuda
