#include "rtcg/runtime/host/host_queue.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

TEST(HostQueue, RunsTasksInTheOrderOfSubmission) {
  HostQueue queue;
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    queue.submit([&order, i] { order.push_back(i); });
  }
  queue.synchronize();
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  EXPECT_TRUE(queue.is_done());
}

TEST(HostQueue, TakesTasksOfManyThreads) {
  HostQueue queue;
  int count = 0;  // only tasks touch it
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        queue.submit([&count] { ++count; });
        if (i % 100 == 0) {
          queue.synchronize();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  queue.synchronize();
  EXPECT_EQ(count, 4000);
}

TEST(HostQueue, KeepsTheFirstErrorForTheNextSynchronisation) {
  HostQueue queue;
  bool has_gone_on = false;
  queue.submit([] { throw std::runtime_error("first"); });
  queue.submit([] { throw std::runtime_error("second"); });
  queue.submit([&] { has_gone_on = true; });
  queue.wait();
  try {
    queue.synchronize();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_TRUE(has_gone_on);
  queue.synchronize();
}

TEST(HostQueue, CompletesItsTasksAfterItsEnd) {
  std::atomic<int> count = 0;
  {
    HostQueue queue;
    for (int i = 0; i < 100; ++i) {
      queue.submit([&] { ++count; });
    }
  }
  while (count < 100) {
    std::this_thread::yield();
  }
}

TEST(HostEvent, HoldsUpOtherQueues) {
  HostQueue first;
  HostQueue second;
  std::atomic<bool> may_go = false;
  std::vector<int> order;
  const HostEvent event(true);
  first.submit([&] {
    while (!may_go) {
      std::this_thread::yield();
    }
    order.push_back(1);
  });
  event.record(first);
  event.hold_up(second);
  second.submit([&] { order.push_back(2); });
  EXPECT_FALSE(event.is_done());
  EXPECT_FALSE(second.is_done());
  may_go = true;
  second.synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(event.is_done());
}

TEST(HostEvent, MeansTheRecordThatWasMadeBeforeTheWait) {
  HostQueue first;
  HostQueue second;
  std::atomic<bool> may_go = false;
  const HostEvent event(false);
  event.record(first);
  event.hold_up(second);
  first.submit([&] {
    while (!may_go) {
      std::this_thread::yield();
    }
  });
  event.record(first);
  second.synchronize();  // does not wait for the second record
  EXPECT_FALSE(event.is_done());
  may_go = true;
  event.synchronize();
  EXPECT_TRUE(event.is_done());
}

TEST(HostEvent, MayBeForgottenWhileItIsPending) {
  HostQueue queue;
  {
    const HostEvent event(true);
    queue.submit([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    event.record(queue);
    event.hold_up(queue);
  }
  queue.synchronize();
}

TEST(HostEvent, TakesTheTimeWhenItIsPassed) {
  HostQueue queue;
  const HostEvent begin(true);
  const HostEvent end(true);
  EXPECT_FALSE(begin.is_recorded());
  begin.record(queue);
  queue.submit([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  end.record(queue);
  end.synchronize();
  EXPECT_GE(end.time() - begin.time(), std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace rtcg::runtime
