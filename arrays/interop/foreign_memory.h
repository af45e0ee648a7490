#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {

/// An array on foreign memory: of another library, of the runtime, or of the user.
///
/// @param address  of the element whose indices are all 0
/// @param stream   may be foreign too, `StreamRef(device, handle)`: work submitted there comes
///                 before the array's, and the array's before what is submitted there later
/// @param owner    kept until the last view is destroyed; null: the caller keeps the memory. On the
///                 host, where memory is released at once, destroying the last view waits for the
///                 work on the array; on devices the owner has to release it in the order of
///                 `stream`
/// @throws InvalidInput  as make_layout
[[nodiscard]] AnyArray wrap_memory(DType dtype, const Layout& layout,
                                   runtime::DeviceAddress address, runtime::StreamRef stream,
                                   std::shared_ptr<const void> owner = nullptr);

/// The contents of Python's `__cuda_array_interface__` (version 3) and `__array_interface__`.
struct ArrayInterface {
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides_bytes{};
  std::string type{};  ///< as NumPy spells it: `<f4`, `|b1`, `<c16`
  std::uint64_t data = 0;
  bool is_read_only = false;
  /// The stream on which the data is ready: 1 is CUDA's default stream, any other number a handle.
  std::uint64_t stream = 1;
};
/// @throws Unsupported  arrays.interface.type: bf16, which NumPy does not have
[[nodiscard]] ArrayInterface interface_of(const AnyArray& array);
/// An array on the memory that an interface describes; a copy if it is read-only. @param stream  as
/// of wrap_memory
///
/// @throws Unsupported   arrays.interface.type
/// @throws InvalidInput  arrays.interface.stride: a stride is not a multiple of an element
[[nodiscard]] AnyArray from_interface(const ArrayInterface& interface, runtime::StreamRef stream,
                                      std::shared_ptr<const void> owner = nullptr);

}  // namespace rtcg::arrays
