#include "rtcg/arrays/interop/dlpack.h"

#include <memory>
#include <type_traits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using dlpack::DataType;
using dlpack::DeviceKind;
using dlpack::Tensor;
using dlpack::TypeCode;

static_assert(sizeof(DataType) == 4 && sizeof(dlpack::Device) == 8 && sizeof(Tensor) == 48 &&
              sizeof(dlpack::ManagedTensor) == 64 && sizeof(dlpack::VersionedTensor) == 80);

DeviceKind kind_of(runtime::Device device) {
  switch (device.info().id.kind) {
    case runtime::BackendKind::cuda:
      return DeviceKind::cuda;
    case runtime::BackendKind::opencl:
      return DeviceKind::opencl;
    default:
      return DeviceKind::cpu;
  }
}

/// Whether work of that device reaches memory of that kind.
bool reaches(runtime::Device device, DeviceKind kind) {
  const bool is_cuda =
      kind == DeviceKind::cuda || kind == DeviceKind::managed || kind == DeviceKind::cuda_host;
  return kind_of(device) == (is_cuda ? DeviceKind::cuda : kind);
}

DataType type_of(DType vector) {
  const DType dtype = element_of(vector);
  const TypeCode code = dtype == DType::boolean      ? TypeCode::boolean
                        : is_complex(dtype)          ? TypeCode::complex
                        : dtype == DType::bf16       ? TypeCode::bfloat
                        : is_floating(dtype)         ? TypeCode::floating
                        : is_unsigned_integer(dtype) ? TypeCode::unsigned_integer
                                                     : TypeCode::integer;
  return {code, static_cast<std::uint8_t>(8 * size_bytes(dtype)),
          static_cast<std::uint16_t>(lanes_of(vector))};
}

DType dtype_of_type_code(const DataType& type) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DataType candidate = type_of(dtype);
    const bool has_lanes = type.lanes == 1 || (type.lanes <= 4 && has_vectors(dtype));
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes > 0 && has_lanes) {
      return vector_of(dtype, type.lanes);
    }
  }
  throw Unsupported(
      "arrays.dlpack.type",
      fmt::format("a tensor has elements of type code {}, {} bits and {} lanes, which "
                  "arrays do not have",
                  static_cast<int>(type.code), type.bits, type.lanes));
}

/// What a tensor that we gave away needs to live.
template <class Managed>
struct Given {
  AnyArray array;
  Extents shape;
  Extents strides;
  Managed managed;
};

template <class Managed>
Managed* give(const AnyArray& array, const std::optional<runtime::StreamRef>& consumer) {
  if (consumer) {
    array.storage()->use_on(*consumer);
  } else {
    const runtime::StreamRef stream = current_stream(array.stream());
    array.storage()->use_on(stream);
    stream.synchronize();
  }
  auto given =
      std::make_unique<Given<Managed>>(Given<Managed>{array, array.shape(), array.strides(), {}});
  Tensor& tensor = given->managed.tensor;
  tensor.data = reinterpret_cast<void*>(array.address());
  tensor.device = {kind_of(array.device()), array.device().info().id.index};
  tensor.axes = array.axes();
  tensor.type = type_of(array.dtype());
  tensor.shape = given->shape.begin();
  tensor.strides = given->strides.begin();
  given->managed.context = given.get();
  given->managed.deleter = [](Managed* managed) {
    delete static_cast<Given<Managed>*>(managed->context);
  };
  return &given.release()->managed;
}

template <class Managed>
AnyArray take_over(Managed* managed, runtime::StreamRef stream) {
  const std::shared_ptr<const void> owner(managed, [managed](const void*) {
    if (managed->deleter != nullptr) {
      managed->deleter(managed);
    }
  });
  if constexpr (std::is_same_v<Managed, dlpack::VersionedTensor>) {
    if (managed->version.major != 1) {
      throw InvalidInput("arrays.dlpack.version",
                         fmt::format("a tensor is laid out as DLPack {}.{} says; 1.x is understood",
                                     managed->version.major, managed->version.minor));
    }
  }
  const Tensor& tensor = managed->tensor;
  if (!reaches(stream.device(), tensor.device.kind) ||
      (tensor.device.kind == DeviceKind::cuda &&
       tensor.device.number != stream.device().info().id.index)) {
    throw InvalidInput("arrays.dlpack.wrong_device",
                       fmt::format("a tensor on device {} of kind {} cannot be an array on {}",
                                   tensor.device.number, static_cast<int>(tensor.device.kind),
                                   runtime::to_string(stream.device().info().id)));
  }
  const DType dtype = dtype_of_type_code(tensor.type);
  const auto axes = static_cast<std::size_t>(tensor.axes);
  Layout layout = make_layout(Extents(std::span<const std::int64_t>(tensor.shape, axes)));
  if (tensor.strides != nullptr) {
    layout.strides = Extents(std::span<const std::int64_t>(tensor.strides, axes));
  }
  const AnyArray result = wrap_memory(
      dtype, layout, reinterpret_cast<runtime::DeviceAddress>(tensor.data) + tensor.byte_offset,
      stream, owner);
  if constexpr (std::is_same_v<Managed, dlpack::VersionedTensor>) {
    if ((managed->flags & dlpack::VersionedTensor::read_only) != 0) {
      const StreamScope scope(stream);
      return result.copy();
    }
  }
  return result;
}

}  // namespace

dlpack::ManagedTensor* to_dlpack(const AnyArray& array,
                                 const std::optional<runtime::StreamRef>& consumer) {
  return give<dlpack::ManagedTensor>(array, consumer);
}

dlpack::VersionedTensor* to_dlpack_versioned(const AnyArray& array,
                                             const std::optional<runtime::StreamRef>& consumer) {
  return give<dlpack::VersionedTensor>(array, consumer);
}

AnyArray from_dlpack(dlpack::ManagedTensor* tensor, runtime::StreamRef stream) {
  return take_over(tensor, stream);
}

AnyArray from_dlpack(dlpack::VersionedTensor* tensor, runtime::StreamRef stream) {
  return take_over(tensor, stream);
}

}  // namespace rtcg::arrays
