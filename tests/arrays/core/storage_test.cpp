// Arrays in memory that the host reaches without a copy.
#include <gtest/gtest.h>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using runtime::MemoryKind;

/// An array of zeros in memory of that kind, and where the host sees its first element.
struct Mapped {
  Array<float> array;
  float* host = nullptr;
};

Mapped mapped(const Extents& shape, MemoryKind kind, runtime::StreamRef stream) {
  const Layout layout = make_layout(shape);
  const auto size_bytes = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  runtime::Memory memory(stream.device(), size_bytes, kind);
  auto* const host = static_cast<float*>(memory.host_pointer());
  const AnyArray array(DType::f32, layout, std::make_shared<Storage>(stream, std::move(memory)));
  array.assign(0);
  return {Array<float>(array), host};
}

template <class Body>
void on_every_mapped_kind(const Body& body) {
  testing::on_every_device([&] {
    const runtime::Device device = current_stream().device();
    for (const MemoryKind kind : {MemoryKind::pinned, MemoryKind::managed}) {
      // OpenCL's pinned memory is for copies
      const bool is_there = kind == MemoryKind::managed
                                ? device.info().has_managed_memory
                                : device.info().id.kind != runtime::BackendKind::opencl;
      if (is_there) {
        body(kind);
      }
    }
  });
}

TEST(StorageOfTheHost, ShowsBothSidesWhatTheOtherWrites) {
  on_every_mapped_kind([](MemoryKind kind) {
    const Mapped x = mapped({5, 6, 7}, kind, current_stream());
    const auto at = [](int i, int j, int k) { return (i * 6 + j) * 7 + k; };
    x.array(3, 2, 1) = 10;
    current_stream().synchronize();
    EXPECT_EQ(x.host[at(3, 2, 1)], 10);
    x.host[at(1, 2, 3)] = 11;
    EXPECT_EQ(Array<float>(x.array(1, 2, 3)).item(), 11);
    EXPECT_EQ(Array<float>(sum(x.array)).item(), 21);
    x.array.assign(2 * x.array.flip({0, 1, 2}));
    current_stream().synchronize();
    EXPECT_EQ(x.host[at(4 - 3, 5 - 2, 6 - 1)], 20);
    EXPECT_EQ(x.host[at(4 - 1, 5 - 2, 6 - 3)], 22);
  });
}

TEST(StorageOfTheHost, GoesFromStreamToStream) {
  on_every_mapped_kind([](MemoryKind kind) {
    const runtime::Device device = current_stream().device();
    const runtime::Stream first(device);
    const runtime::Stream second(device);
    const Mapped x = mapped({2000}, kind, first);
    {
      const StreamScope scope(first);
      x.array.assign(arange<float>(2000));
    }
    {
      const StreamScope scope(second);
      x.array += 1;
    }
    second.synchronize();
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(x.host[i], static_cast<float>(i + 1));
    }
  });
}

}  // namespace
}  // namespace rtcg::arrays
