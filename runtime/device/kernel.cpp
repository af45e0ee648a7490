#include "rtcg/runtime/device/kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/known_texts.h"
#include "rtcg/runtime/device/driver_message.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/launch_attributes.h"
#include "rtcg/runtime/device/launch_capture.h"

namespace rtcg::runtime {
namespace {

bool is_within(const Extent3& extent, const std::array<std::uint64_t, 3>& limit) {
  return extent.x <= limit[0] && extent.y <= limit[1] && extent.z <= limit[2];
}

bool has_no_blocks(const Extent3& grid) {
  return grid.x == 0 || grid.y == 0 || grid.z == 0;
}

std::string describe(const detail::LoadedKernel& kernel, const LaunchShape& shape) {
  return fmt::format("kernel '{}' on '{}' with {}", kernel.attributes.name,
                     to_string(kernel.device.info().id), to_string(shape));
}

[[noreturn]] void refuse(const char* code, const detail::LoadedKernel& kernel,
                         const LaunchShape& shape, const std::string& limit) {
  throw InvalidInput(code, fmt::format("cannot launch {}: {}", describe(kernel, shape), limit));
}

std::string text(const std::array<std::uint64_t, 3>& extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

// Apart from the launch itself, so that the path of a good launch stays short.
[[gnu::cold]] void check_block(const detail::LoadedKernel& kernel, const LaunchShape& shape) {
  const DeviceInfo& info = kernel.device.info();
  if (shape.block.volume() == 0) {
    refuse("runtime.launch.block_limit", kernel, shape, "a block has at least one thread");
  }
  if (!is_within(shape.block, info.max_block)) {
    refuse("runtime.launch.block_limit", kernel, shape,
           "a block is at most " + text(info.max_block));
  }
  refuse("runtime.launch.block_limit", kernel, shape,
         fmt::format("a block of this kernel has at most {} threads, not {}", kernel.max_threads,
                     shape.block.volume()));
}

void check_shape(const detail::LoadedKernel& kernel, const LaunchShape& shape) {
  const DeviceInfo& info = kernel.device.info();
  // the extents first: only then does the product not overflow
  if (!is_within(shape.block, info.max_block) || shape.block.volume() == 0 ||
      shape.block.volume() > kernel.max_threads) {
    check_block(kernel, shape);
  }
  if (!is_within(shape.grid, info.max_grid)) {
    refuse("runtime.launch.grid_limit", kernel, shape,
           fmt::format("a grid has at most {} blocks", text(info.max_grid)));
  }
  if (shape.shared_bytes > kernel.max_dynamic_shared_bytes) {
    refuse("runtime.launch.shared_limit", kernel, shape,
           fmt::format("at most {} bytes of shared memory are left in addition to its own {}",
                       kernel.max_dynamic_shared_bytes, kernel.attributes.static_shared_bytes));
  }
  if (shape.cooperative && !info.has_cooperative_launch) {
    throw Unsupported("runtime.launch.not_cooperative",
                      fmt::format("cannot launch {}: the device has no cooperative launch",
                                  describe(kernel, shape)));
  }
}

void check_arguments(const detail::LoadedKernel& kernel, const LaunchShape& shape,
                     const ArgumentView& arguments) {
  if (!kernel.attributes.parameters) {
    return;
  }
  const std::vector<KernelParameter>& parameters = *kernel.attributes.parameters;
  if (arguments.values.size() != parameters.size()) {
    refuse(
        "runtime.launch.argument_count", kernel, shape,
        fmt::format("it takes {} arguments, not {}", parameters.size(), arguments.values.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t expected = parameters[i].size_bytes;
    if (expected != 0 && expected != arguments.sizes_bytes[i]) {
      refuse("runtime.launch.argument_size", kernel, shape,
             fmt::format("argument {} has {} bytes, its parameter {}", i + 1,
                         arguments.sizes_bytes[i], expected));
    }
  }
}

/// @param submit  launches
template <class Submit>
void launch_checked(const detail::LoadedKernel& kernel, StreamRef stream, const LaunchShape& shape,
                    const ArgumentView& arguments, const LaunchAttributes& attributes,
                    const Submit& submit) {
  if (stream.device() != kernel.device) {
    refuse("runtime.launch.wrong_device", kernel, shape,
           fmt::format("the stream is of '{}'", to_string(stream.device().info().id)));
  }
  if (has_no_blocks(shape.grid)) {
    return;
  }
  check_shape(kernel, shape);
  const std::unique_ptr<detail::LaunchCapture> capture =
      are_launches_captured()
          ? detail::LaunchCapture::begin(kernel, stream, shape, arguments, attributes)
          : nullptr;
  try {
    submit();
    if (capture != nullptr) {
      capture->end();
    }
    if (detail::is_any_captured() && detail::keep_in_graph(stream, kernel.program)) {
      return;
    }
    if (kernel.launches_synchronously) {
      stream.synchronize();
    }
  } catch (const DeviceError& error) {
    throw DeviceError(error.code(),
                      fmt::format("{}: {}", describe(kernel, shape), driver_message(error)),
                      error.api(), error.status());
  }
}

/// Whose clusters are checked against the grid.
LaunchAttributesBackend& attributes_of(const detail::LoadedKernel& kernel, const LaunchShape& shape,
                                       const LaunchAttributes& attributes) {
  if (const std::string why = why_no_launch(kernel.device, attributes); !why.empty()) {
    throw Unsupported("runtime.launch.no_attributes",
                      fmt::format("cannot launch {}: {}", describe(kernel, shape), why));
  }
  const Extent3& cluster = attributes.cluster;
  if (cluster.volume() == 0 || shape.grid.x % cluster.x != 0 || shape.grid.y % cluster.y != 0 ||
      shape.grid.z % cluster.z != 0) {
    refuse("runtime.launch.cluster_limit", kernel, shape,
           fmt::format("the grid does not consist of whole clusters of {} blocks",
                       text({cluster.x, cluster.y, cluster.z})));
  }
  return dynamic_cast<LaunchAttributesBackend&>(kernel.device.backend());
}

}  // namespace

namespace detail {

void launch(const LoadedKernel& kernel, StreamRef stream, const LaunchShape& shape,
            const ArgumentView& arguments) {
  launch_checked(kernel, stream, shape, arguments, {}, [&] {
    kernel.device.backend().launch(stream.native_handle(), kernel.handle, shape, arguments);
  });
}

}  // namespace detail

std::string why_no_launch(Device device, const LaunchAttributes& attributes) {
  const auto* const backend = dynamic_cast<const LaunchAttributesBackend*>(&device.backend());
  return backend != nullptr ? backend->why_no_launch(attributes)
                            : fmt::format(
                                  "'{}' has neither clusters nor programmatic launches: "
                                  "launch the kernel without attributes",
                                  device.info().name);
}

void launch_with(const Kernel& kernel, StreamRef stream, const LaunchShape& shape,
                 const ArgumentPack& arguments, const LaunchAttributes& attributes) {
  const detail::LoadedKernel& loaded = *kernel.loaded();
  check_arguments(loaded, shape, arguments.view());
  LaunchAttributesBackend& backend = attributes_of(loaded, shape, attributes);
  launch_checked(loaded, stream, shape, arguments.view(), attributes, [&] {
    backend.launch_with(stream.native_handle(), loaded.handle, shape, arguments.view(), attributes);
  });
}

int clusters_at_once(const Kernel& kernel, const LaunchShape& shape,
                     const LaunchAttributes& attributes) {
  const detail::LoadedKernel& loaded = *kernel.loaded();
  check_shape(loaded, shape);
  return attributes_of(loaded, shape, attributes)
      .clusters_at_once(loaded.handle, shape, attributes);
}

ArgumentPack::ArgumentPack(const ArgumentPack& other)
    : cells_(other.cells_), first_cells_(other.first_cells_), sizes_bytes_(other.sizes_bytes_) {
  point_to_cells();
}

ArgumentPack& ArgumentPack::operator=(const ArgumentPack& other) {
  ArgumentPack copy(other);
  *this = std::move(copy);
  return *this;
}

ArgumentPack& ArgumentPack::add_bytes(std::span<const std::byte> value) {
  const Cell* const cells_before = cells_.data();
  first_cells_.push_back(cells_.size());
  sizes_bytes_.push_back(value.size());
  // at least one cell, so that the pointer of an empty struct is valid too
  cells_.resize(cells_.size() + std::max<std::size_t>(1, (value.size() + 15) / 16));
  if (!value.empty()) {
    std::memcpy(&cells_[first_cells_.back()], value.data(), value.size());
  }
  if (cells_.data() == cells_before) {
    pointers_.push_back(&cells_[first_cells_.back()]);
  } else {
    point_to_cells();
  }
  return *this;
}

void ArgumentPack::reserve(std::size_t count) {
  cells_.reserve(count);
  first_cells_.reserve(count);
  sizes_bytes_.reserve(count);
  pointers_.reserve(count);
  point_to_cells();
}

void ArgumentPack::clear() noexcept {
  cells_.clear();
  first_cells_.clear();
  sizes_bytes_.clear();
  pointers_.clear();
}

void ArgumentPack::point_to_cells() {
  pointers_.resize(first_cells_.size());
  for (std::size_t i = 0; i < first_cells_.size(); ++i) {
    pointers_[i] = &cells_[first_cells_[i]];
  }
}

void Kernel::launch(StreamRef stream, const LaunchShape& shape,
                    const ArgumentPack& arguments) const {
  check_arguments(*loaded_, shape, arguments.view());
  detail::launch(*loaded_, stream, shape, arguments.view());
}

}  // namespace rtcg::runtime
