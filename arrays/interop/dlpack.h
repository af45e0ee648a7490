#pragma once

#include <cstdint>
#include <optional>

#include "rtcg/arrays/interop/foreign_memory.h"

// Arrays to and from other libraries by DLPack, which all of them speak: the same memory, no copy.

namespace rtcg::arrays {

/// DLPack's structures with the layout of its binary interface (1.0). Only the names are ours:
/// pointers to them and to those of dlpack.h may be cast into each other.
namespace dlpack {

enum class DeviceKind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, opencl = 4, managed = 13 };
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t number = 0;
};
enum class TypeCode : std::uint8_t {
  integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
};
struct DataType {
  TypeCode code = TypeCode::floating;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;
};
struct Tensor {
  void* data = nullptr;
  Device device{};
  std::int32_t axes = 0;
  DataType type{};
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements; null: C order
  std::uint64_t byte_offset = 0;
};
/// DLManagedTensor. Its holder calls `deleter` once.
struct ManagedTensor {
  Tensor tensor{};
  void* context = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
};
struct Version {
  std::uint32_t major = 1;
  std::uint32_t minor = 0;
};
/// DLManagedTensorVersioned.
struct VersionedTensor {
  Version version{};
  void* context = nullptr;
  void (*deleter)(VersionedTensor*) = nullptr;
  std::uint64_t flags = 0;
  Tensor tensor{};

  static constexpr std::uint64_t read_only = 1;
  static constexpr std::uint64_t is_copied = 2;
};

}  // namespace dlpack

/// The array for another library, which frees it by its deleter: until then the elements live.
///
/// @param consumer  the stream on which it will be used: made to wait for the work on the array.
///                  Without one, the host waits.
[[nodiscard]] dlpack::ManagedTensor* to_dlpack(
    const AnyArray& array, const std::optional<runtime::StreamRef>& consumer = {});
[[nodiscard]] dlpack::VersionedTensor* to_dlpack_versioned(
    const AnyArray& array, const std::optional<runtime::StreamRef>& consumer = {});

/// An array on the memory of a tensor, which is deleted with the last view; also when this throws.
/// Of a tensor that must not be written, a copy.
///
/// @param stream  on the tensor's device; work on the tensor submitted there comes before the
///                array's
/// @throws InvalidInput  arrays.dlpack.wrong_device, arrays.dlpack.version
/// @throws Unsupported   arrays.dlpack.type
[[nodiscard]] AnyArray from_dlpack(dlpack::ManagedTensor* tensor, runtime::StreamRef stream);
[[nodiscard]] AnyArray from_dlpack(dlpack::VersionedTensor* tensor, runtime::StreamRef stream);

}  // namespace rtcg::arrays
