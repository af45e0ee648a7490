// Memory that others own or will own, and copies without a wait.
#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/dlpack.h"
#include "rtcg/arrays/interop/transfer.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Floats = std::vector<float>;

TEST(DLPack, GivesArraysAwayAndTakesThemBack) {
  on_every_device([] {
    const runtime::StreamRef stream = current_stream();
    dlpack::ManagedTensor* tensor = nullptr;
    dlpack::VersionedTensor* versioned = nullptr;
    {
      const auto x = arange<float>(6).reshape({2, 3}).flip({1});
      tensor = to_dlpack(x, stream);
      versioned = to_dlpack_versioned(x);
    }
    EXPECT_EQ(tensor->tensor.axes, 2);
    EXPECT_EQ(tensor->tensor.shape[1], 3);
    EXPECT_EQ(tensor->tensor.strides[1], -1);
    EXPECT_EQ(tensor->tensor.type.bits, 32);
    EXPECT_EQ(versioned->version.major, 1U);
    EXPECT_EQ(versioned->tensor.data, tensor->tensor.data);
    const Array<float> back(from_dlpack(tensor, stream));
    EXPECT_EQ(back.to_vector(), (Floats{2, 1, 0, 5, 4, 3}));
    const Array<float> again(from_dlpack(versioned, stream));
    back(0, 0) = 9;
    EXPECT_EQ(again(0).to_vector(), (Floats{9, 1, 0}));
  });
}

/// A tensor as another library makes it.
struct Foreign {
  Floats values = {1, 2, 3, 4};
  std::int64_t shape[1] = {4};
  int deletions = 0;

  template <class Managed>
  Managed make() {
    Managed managed;
    managed.tensor.data = values.data();
    managed.tensor.axes = 1;
    managed.tensor.shape = shape;
    managed.context = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->context)->deletions; };
    return managed;
  }
};

TEST(DLPack, DeletesWhatItTookOnce) {
  const runtime::StreamRef stream = runtime::Device::host().default_stream();
  Foreign foreign;
  auto tensor = foreign.make<dlpack::ManagedTensor>();
  {
    const Array<float> x(from_dlpack(&tensor, stream));
    const auto view = x(Slice{1, 3});
    EXPECT_EQ(Array<float>(view * 2).to_vector(), (Floats{4, 6}));
    EXPECT_EQ(foreign.deletions, 0);
  }
  EXPECT_EQ(foreign.deletions, 1);
  auto versioned = foreign.make<dlpack::VersionedTensor>();
  versioned.version.major = 2;
  EXPECT_ERROR("arrays.dlpack.version", from_dlpack(&versioned, stream));
  EXPECT_EQ(foreign.deletions, 2);
  tensor.tensor.device.kind = dlpack::DeviceKind::cuda;
  EXPECT_ERROR("arrays.dlpack.wrong_device", from_dlpack(&tensor, stream));
  tensor.tensor.device.kind = dlpack::DeviceKind::cpu;
  tensor.tensor.type.lanes = 8;
  EXPECT_ERROR("arrays.dlpack.type", from_dlpack(&tensor, stream));
  EXPECT_EQ(foreign.deletions, 4);
}

TEST(DLPack, CopiesWhatMustNotBeWritten) {
  const runtime::StreamRef stream = runtime::Device::host().default_stream();
  Foreign foreign;
  auto tensor = foreign.make<dlpack::VersionedTensor>();
  tensor.flags = dlpack::VersionedTensor::read_only;
  const Array<float> x(from_dlpack(&tensor, stream));
  EXPECT_EQ(foreign.deletions, 1);
  x += 1;
  EXPECT_EQ(x.to_vector(), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(foreign.values, (Floats{1, 2, 3, 4}));
  ArrayInterface interface = interface_of(x);
  interface.is_read_only = true;
  const Array<float> y(from_interface(interface, stream));
  y += 1;
  EXPECT_EQ(x(0).item(), 2);
}

TEST(ArrayInterface, DescribesAndTakesArrays) {
  on_every_device([] {
    const auto x = arange<std::int16_t>(12).reshape({3, 4}).transposed();
    const ArrayInterface interface = interface_of(x);
    EXPECT_EQ(interface.type, "<i2");
    EXPECT_EQ(interface.strides_bytes, (std::vector<std::int64_t>{2, 8}));
    const auto owner = std::make_shared<AnyArray>(x.any());
    const AnyArray y = from_interface(interface, current_stream(), owner);
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_EQ(Array<std::int16_t>(y).to_vector(), x.to_vector());
  });
  ArrayInterface interface = interface_of(zeros<bool>({2}));
  EXPECT_EQ(interface.type, "|b1");
  interface.type = "<f4";
  interface.strides_bytes = {3};
  const runtime::StreamRef stream = current_stream();
  EXPECT_ERROR("arrays.interface.stride", from_interface(interface, stream));
  interface.type = "<M8";
  EXPECT_ERROR("arrays.interface.type", from_interface(interface, stream));
  EXPECT_ERROR("arrays.interface.type", interface_of(empty(DType::bf16, {1})));
}

TEST(WrapMemory, UsesForeignMemoryAndStreams) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    const runtime::Stream theirs(device);
    const runtime::StreamRef foreign(device, theirs.native_handle());
    const runtime::Buffer<float> buffer(device, Floats{1, 2, 3, 4});
    const AnyArray x = wrap_memory(DType::f32, make_layout({4}), buffer.address(), foreign);
    const AnyArray backwards =
        wrap_memory(DType::f32, {{4}, {-1}, 0}, (buffer.ref() + 3).address(), foreign);
    x.assign(x * 2);
    EXPECT_EQ(Array<float>(backwards).to_vector(), (Floats{8, 6, 4, 2}));
    const AnyArray copied = copy_to(backwards, runtime::Device::host().default_stream());
    EXPECT_EQ(Array<float>(copied).to_vector(), (Floats{8, 6, 4, 2}));
  }
}

TEST(WrapMemory, LetsGoOfHostMemoryWhenTheWorkIsDone) {
  const runtime::Stream stream(runtime::Device::host());
  Floats values(1 << 20);
  float seen = 0;
  {
    const std::shared_ptr<const void> owner(values.data(),
                                            [&](const void*) { seen = values.back(); });
    const AnyArray x =
        wrap_memory(DType::f32, make_layout({1 << 20}),
                    reinterpret_cast<runtime::DeviceAddress>(values.data()), stream, owner);
    for (int i = 0; i < 20; ++i) {
      x.assign(x + 1);
    }
  }
  EXPECT_EQ(seen, 20);
}

/// As std::mdspan is: its rank is static, and members have these names.
struct ColumnsOfThree {
  using element_type = const double;
  const double* memory;
  static constexpr std::size_t rank() noexcept { return 2; }
  [[nodiscard]] std::size_t extent(std::size_t axis) const { return axis == 0 ? 2 : 3; }
  [[nodiscard]] std::size_t stride(std::size_t axis) const { return axis == 0 ? 1 : 2; }
  [[nodiscard]] const double* data_handle() const { return memory; }
};

TEST(HostViews, AreCopiedFromAndToInAnyOrder) {
  const double columns[] = {0, 10, 1, 11, 2, 12};
  std::vector<std::int32_t> counted(60);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    counted[i] = static_cast<std::int32_t>(i);
  }
  on_every_device([&] {
    const Array<double> x(ColumnsOfThree{columns});
    EXPECT_EQ(x.shape(), (Extents{2, 3}));
    EXPECT_TRUE(x.layout().is_contiguous());
    EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 1, 2, 10, 11, 12}));
    // every other row of a larger array, backwards
    const StridedSpan rows(counted.data(), Layout{{3, 4}, {-20, 2}, 41});
    const Array<std::int32_t> y(rows);
    EXPECT_EQ(y.to_vector(),
              (std::vector<std::int32_t>{41, 43, 45, 47, 21, 23, 25, 27, 1, 3, 5, 7}));
    std::vector<std::int32_t> back(12);
    y.read(StridedSpan(back.data(), make_layout({3, 4}, Order::f)));
    EXPECT_EQ(back[1], 21);
    EXPECT_EQ(back[3], 43);
    std::vector<std::int32_t> apart(60, -1);
    y.transposed().read(StridedSpan(apart.data(), Layout{{4, 3}, {3, 20}, 0}));
    EXPECT_EQ(apart[9 + 40], 7);
    EXPECT_EQ(apart[1], -1);
    y.transposed().write(StridedSpan<const std::int32_t>(counted.data(), make_layout({4, 3})));
    EXPECT_EQ(y.to_vector(), (std::vector<std::int32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
    const Array<double> none(StridedSpan<const double>(columns, make_layout({0, 5})));
    EXPECT_EQ(none.shape(), (Extents{0, 5}));
    const Array<double> one(StridedSpan<const double>(columns, Layout{{}, {}, 3}));
    EXPECT_EQ(one.item(), 11);
    const Array<double> repeated(StridedSpan<const double>(columns, Layout{{2, 2}, {0, 1}, 0}));
    EXPECT_EQ(repeated.to_vector(), (std::vector<double>{0, 10, 0, 10}));
    EXPECT_ERROR("arrays.write.shape_mismatch",
                 y.write(StridedSpan(counted.data(), make_layout({4, 3}))));
  });
}

TEST(Transfer, GoesBothWaysWithoutWaiting) {
  on_every_device([] {
    const auto x = zeros<float>({300, 200});
    const runtime::Buffer<float> in = pinned_for(x);
    const runtime::Buffer<float> out = pinned_for(x);
    for (std::size_t i = 0; i < in.host_span().size(); ++i) {
      in.host_span()[i] = static_cast<float>(i);
    }
    const std::span<const float> values = in.host_span();
    static_cast<void>(write_async(x, values));
    x += 1;
    read_async(x, out.host_span()).synchronize();
    EXPECT_EQ(out.host_span()[59999], 60000);
    // turned round on the way
    static_cast<void>(write_async(x.any().flip({0, 1}), std::as_bytes(values)));
    read_async(x, out.host_span()).synchronize();
    EXPECT_EQ(out.host_span()[0], 59999);
    EXPECT_ERROR("arrays.write.size_mismatch", write_async(x, values.subspan(1)));
    read_async(zeros<float>({0}), std::span<float>()).synchronize();
  });
}

}  // namespace
}  // namespace rtcg::arrays
