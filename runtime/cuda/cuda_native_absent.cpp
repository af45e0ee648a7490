// So that programs that use CudaNative link with an rtcg that was built without the CUDA headers.
// There no device is a CUDA device, the constructor always throws, and nothing here can be reached.
#if !RTCG_HAS_CUDA_HEADERS
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_native.h"

namespace rtcg::runtime {
namespace {

[[noreturn]] void absent() {
  throw InternalError("there is no CudaNative without the CUDA headers", SourceOrigin::current());
}

}  // namespace

int CudaNative::driver_version() const {
  absent();
}
int CudaNative::ordinal() const {
  absent();
}
std::string CudaNative::pci_bus_id() const {
  absent();
}
int CudaNative::attribute(int) const {
  absent();
}
CUctx_st* CudaNative::primary_context() const {
  absent();
}
void CudaNative::make_current() const {
  absent();
}
std::size_t CudaNative::limit(int) const {
  absent();
}
void CudaNative::set_limit(int, std::size_t) const {
  absent();
}
int CudaNative::cache_config() const {
  absent();
}
void CudaNative::set_cache_config(int) const {
  absent();
}
int CudaNative::kernel_attribute(const Kernel&, int) const {
  absent();
}
void CudaNative::set_kernel_attribute(const Kernel&, int, int) const {
  absent();
}
void CudaNative::set_kernel_cache_config(const Kernel&, int) const {
  absent();
}
std::vector<std::pair<std::size_t, std::size_t>> CudaNative::parameters(const Kernel&) const {
  absent();
}
std::optional<CudaNative::PointerInfo> CudaNative::pointer_info(DeviceAddress) const {
  absent();
}
CudaNative::PitchedMemory CudaNative::allocate_pitched(std::size_t, std::size_t,
                                                       unsigned int) const {
  absent();
}
DeviceAddress CudaNative::allocate_write_combined(std::size_t) const {
  absent();
}
void CudaNative::prefetch_to_device(StreamRef, DeviceAddress, std::size_t) const {
  absent();
}
void CudaNative::prefetch_to_host(StreamRef, DeviceAddress, std::size_t) const {
  absent();
}
void CudaNative::advise(DeviceAddress, std::size_t, int) const {
  absent();
}
void CudaNative::attach(StreamRef, DeviceAddress, unsigned int) const {
  absent();
}
CUmemPoolHandle_st* CudaNative::memory_pool() const {
  absent();
}
CudaNative::PoolUse CudaNative::pool_use() const {
  absent();
}
void CudaNative::trim_pool(std::size_t) const {
  absent();
}
void CudaNative::start_profiler() const {
  absent();
}
void CudaNative::stop_profiler() const {
  absent();
}
CompiledProgram CudaNative::link(std::span<const LinkInput>) const {
  absent();
}

struct CudaContextScope::Scope {};

CudaContextScope::CudaContextScope(Device device) {
  static_cast<void>(CudaNative(device));
  absent();
}
CudaContextScope::~CudaContextScope() = default;

}  // namespace rtcg::runtime
#endif
