// Arrays used by many threads and streams at once, and what memory is left behind.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

TEST(Threads, UseStreamsOfTheirOwnAndShareArrays) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    constexpr int threads = 8;
    const runtime::Stream made_on(device);
    const Array<float> shared = full<float>({5000}, 1, made_on);
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (int number = 0; number < threads; ++number) {
      workers.emplace_back([&, number] {
        const runtime::Stream stream(device);
        const StreamScope scope(stream);
        Array<float> mine = full<float>({5000}, static_cast<float>(number));
        for (int round = 0; round < 10; ++round) {
          mine = mine + shared * 2;  // the first of all compiles, the others wait for it
        }
        const float expected = static_cast<float>(number) + 20;
        const Array<float> total = sum(mine);
        if (total.item() != 5000 * expected || mine(4999).item() != expected) {
          ++wrong;
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
    EXPECT_EQ(wrong, 0) << runtime::to_string(device.info().id);
  }
}

TEST(Threads, ShareKernelsOfEveryKind) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    const ElementwiseKernel twice("const float *x, float *z", "z[i] = 2 * x[i]");
    const ReductionKernel total("float", "0", "a + b", "x[i]", "const float *x");
    const runtime::Stream made_on(device);
    const Array<float> shared = full<float>({3000}, 1, made_on);
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (std::uint64_t number = 0; number < 8; ++number) {
      workers.emplace_back([&, number] {
        const runtime::Stream stream(device);
        const StreamScope scope(stream);
        Generator random(number);
        for (int round = 0; round < 5; ++round) {
          const Array<float> mine = empty<float>({3000});
          twice(shared, mine);
          const Array<float> noise = random.uniform<float>({3000});
          const Array<float> inside = sum(cast<float>(noise < 1));
          const Array<float> picked = take(mine, arange<std::int64_t>(100));
          if (Array<float>(total(mine)).item() != 6000 || inside.item() != 3000 ||
              picked(99).item() != 2) {
            ++wrong;
          }
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
    EXPECT_EQ(wrong, 0) << runtime::to_string(device.info().id);
  }
}

TEST(Threads, ShareExpressions) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    const runtime::Stream made_on(device);
    const Array<float> shared = full<float>({3000}, 3, made_on);
    const Expression twice = 2 * shared;
    const Expression total = sum(shared);
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (int number = 0; number < 8; ++number) {
      workers.emplace_back([&] {
        const runtime::Stream stream(device);
        const StreamScope scope(stream);
        const auto mine = zeros<float>({3000});
        const auto one = zeros<float>({});
        for (int round = 0; round < 5; ++round) {  // from the third on, one launch is ready
          mine.assign(twice);
          one.assign(total);
          wrong += mine(2999).item() != 6 || one.item() != 9000 ? 1 : 0;
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
    EXPECT_EQ(wrong, 0) << runtime::to_string(device.info().id);
  }
}

TEST(Threads, HandArraysFromStreamToStream) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    std::vector<runtime::Stream> streams;
    for (int i = 0; i < 8; ++i) {
      streams.emplace_back(device);
    }
    const Array<std::int32_t> x = zeros<std::int32_t>({100000}, streams[0]);
    for (int round = 0; round < 40; ++round) {
      const StreamScope scope(streams[static_cast<std::size_t>(round) % streams.size()]);
      x.assign(x + 1);
    }
    EXPECT_EQ(x(99999).item(), 40) << runtime::to_string(device.info().id);
  }
}

TEST(Memory, OfExpressionsGoesBackToThePool) {
  testing::on_every_device([] {
    const runtime::StreamRef stream = current_stream();
    const auto in_use = [&] {
      return runtime::MemoryPool::standard(stream.device()).statistics().active_bytes;
    };
    const std::uint64_t before = in_use();
    {
      const auto x = ones<double>({1000, 100});
      const Array<double> y = (x - mean(x, over(0))) / std_dev(x + 1);
      EXPECT_EQ(y.count(), 100000);
      EXPECT_GT(in_use(), before);
      EXPECT_ERROR("arrays.broadcast.shape_mismatch", evaluate(y + zeros<double>({3})));
    }
    EXPECT_EQ(in_use(), before);
  });
}

TEST(Memory, ThatIsNotThereIsAnErrorAndBreaksNothing) {
  testing::on_every_device([] {
    EXPECT_ERROR("runtime.memory.out_of_memory", empty<double>({std::int64_t{1} << 50}));
    // and nothing is broken
    EXPECT_EQ(Array<float>(ones<float>({3}) + 1).to_vector(), (std::vector<float>{2, 2, 2}));
  });
}

}  // namespace
}  // namespace rtcg::arrays
