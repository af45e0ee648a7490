#if RTCG_HAS_CUDA_HEADERS
#include "rtcg/runtime/cuda/linker.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace rtcg::runtime::cuda {
namespace {

CUjitInputType input_type(CudaNative::LinkInput::Kind kind) {
  switch (kind) {
    case CudaNative::LinkInput::Kind::cubin:
      return CU_JIT_INPUT_CUBIN;
    case CudaNative::LinkInput::Kind::ptx:
      return CU_JIT_INPUT_PTX;
    case CudaNative::LinkInput::Kind::archive:
      break;
  }
  return CU_JIT_INPUT_LIBRARY;
}

// Owns one run of the linker.
class Linker {
 public:
  explicit Linker(const DriverApi& driver) : driver_(driver) {
    std::array options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values = {log_.data(), reinterpret_cast<void*>(log_.size())};
    driver_.cuLinkCreate.must("start the linker", static_cast<unsigned int>(options.size()),
                              options.data(), values.data(), &state_);
  }
  ~Linker() { driver_.cuLinkDestroy.quietly(state_); }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  void add(const CudaNative::LinkInput& input) {
    std::vector<std::byte> bytes(input.bytes.begin(), input.bytes.end());
    bytes.push_back(std::byte{0});  // PTX is taken up to its final zero, which is counted
    const std::size_t count =
        input.bytes.size() + (input.kind == CudaNative::LinkInput::Kind::ptx ? 1 : 0);
    check(driver_.cuLinkAddData(state_, input_type(input.kind), bytes.data(), count,
                                input.name.c_str(), 0, nullptr, nullptr),
          driver_.cuLinkAddData.name(), fmt::format("link '{}'", input.name));
  }

  // Valid while this lives.
  [[nodiscard]] std::span<const std::byte> complete() {
    void* cubin = nullptr;
    std::size_t size_bytes = 0;
    check(driver_.cuLinkComplete(state_, &cubin, &size_bytes), driver_.cuLinkComplete.name(),
          "finish the linking");
    return {static_cast<const std::byte*>(cubin), size_bytes};
  }

 private:
  void check(CUresult status, const char* function, const std::string& what) const {
    if (status != CUDA_SUCCESS) {
      const std::string said = log_.data();
      throw_status(status, function, said.empty() ? what : what + ": " + said);
    }
  }

  const DriverApi& driver_;
  std::array<char, 4096> log_ = {};
  CUlinkState state_ = nullptr;
};

}  // namespace

std::vector<std::byte> link(const DriverApi& driver,
                            std::span<const CudaNative::LinkInput> inputs) {
  Linker linker(driver);
  for (const CudaNative::LinkInput& input : inputs) {
    linker.add(input);
  }
  const std::span<const std::byte> cubin = linker.complete();
  return {cubin.begin(), cubin.end()};
}

}  // namespace rtcg::runtime::cuda
#endif
