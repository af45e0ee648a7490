// Memory and semaphores of a real Vulkan, on the same GPU.
#if __has_include(<vulkan/vulkan_core.h>)
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <string>
#include <vector>
#include <vulkan/vulkan_core.h>

#include <fmt/format.h>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/external.h"
#include "rtcg/runtime/device/function.h"
#include "tests/runtime/cuda/cuda_device.h"

namespace rtcg::runtime {
namespace {

template <class Description>
Description described(VkStructureType type) {
  Description made = {};
  made.sType = type;
  return made;
}

/// A device of Vulkan with one queue and one buffer of commands, on the first GPU of CUDA.
class VulkanDevice {
 public:
  /// Empty, or why there is none.
  std::string open(const std::string& uuid) {
    void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
    if (library == nullptr) {
      return "no libvulkan.so.1";
    }
    find_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    auto program = described<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    program.apiVersion = VK_API_VERSION_1_2;
    auto about = described<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    about.pApplicationInfo = &program;
    if (call<PFN_vkCreateInstance>("vkCreateInstance")(&about, nullptr, &instance_) != VK_SUCCESS) {
      return "Vulkan cannot begin";
    }
    std::uint32_t count = 16;
    std::array<VkPhysicalDevice, 16> devices{};
    call<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance_, &count,
                                                                       devices.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      auto names =
          described<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
      auto all =
          described<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
      all.pNext = &names;
      call<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(devices[i], &all);
      std::string found;
      for (const std::uint8_t byte : names.deviceUUID) {
        found += fmt::format("{:02x}", byte);
      }
      std::string wanted = uuid;
      wanted.erase(std::remove(wanted.begin(), wanted.end(), '-'), wanted.end());
      if (wanted.find(found) != std::string::npos) {
        physical_ = devices[i];
      }
    }
    return physical_ == nullptr ? "no device of Vulkan is the first of CUDA" : open_queue();
  }

  ~VulkanDevice() {
    if (device_ != nullptr) {
      call<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device_);
      call<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device_, pool_, nullptr);
      call<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
    }
    if (instance_ != nullptr) {
      call<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr);
    }
  }

  template <class Pointer>
  [[nodiscard]] Pointer call(const char* name) const {
    return reinterpret_cast<Pointer>(find_(instance_, name));
  }
  [[nodiscard]] VkDevice get() const { return device_; }

  struct Allocation {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::size_t size_bytes = 0;
  };
  /// Memory for a buffer or an image, which others may import, or which the host may read.
  [[nodiscard]] Allocation allocate(const VkMemoryRequirements& needs, bool is_shared,
                                    VkBuffer for_buffer, VkImage for_image) const {
    VkPhysicalDeviceMemoryProperties kinds;
    call<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(physical_,
                                                                                         &kinds);
    const VkMemoryPropertyFlags wanted =
        is_shared ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
                  : VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    auto dedicated =
        described<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    dedicated.buffer = for_buffer;
    dedicated.image = for_image;
    auto exported =
        described<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    exported.pNext = &dedicated;
    auto about = described<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    about.allocationSize = needs.size;
    about.pNext = is_shared ? &exported : nullptr;
    for (std::uint32_t i = 0; i < kinds.memoryTypeCount; ++i) {
      if ((needs.memoryTypeBits >> i & 1U) != 0 &&
          (kinds.memoryTypes[i].propertyFlags & wanted) == wanted) {
        about.memoryTypeIndex = i;
        break;
      }
    }
    Allocation made;
    made.size_bytes = needs.size;
    EXPECT_EQ(
        call<PFN_vkAllocateMemory>("vkAllocateMemory")(device_, &about, nullptr, &made.memory),
        VK_SUCCESS);
    return made;
  }
  [[nodiscard]] int descriptor_of(const Allocation& allocation) const {
    auto about = described<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    about.memory = allocation.memory;
    about.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    int descriptor = -1;
    EXPECT_EQ(call<PFN_vkGetMemoryFdKHR>("vkGetMemoryFdKHR")(device_, &about, &descriptor),
              VK_SUCCESS);
    return descriptor;
  }
  [[nodiscard]] VkBuffer buffer(std::size_t size_bytes, bool is_shared) const {
    auto external = described<VkExternalMemoryBufferCreateInfo>(
        VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    auto about = described<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    about.pNext = is_shared ? &external : nullptr;
    about.size = size_bytes;
    about.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkBuffer made = VK_NULL_HANDLE;
    EXPECT_EQ(call<PFN_vkCreateBuffer>("vkCreateBuffer")(device_, &about, nullptr, &made),
              VK_SUCCESS);
    return made;
  }
  [[nodiscard]] Allocation bind(VkBuffer buffer, bool is_shared) const {
    VkMemoryRequirements needs;
    call<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device_, buffer,
                                                                             &needs);
    const Allocation made = allocate(needs, is_shared, buffer, VK_NULL_HANDLE);
    EXPECT_EQ(call<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device_, buffer, made.memory, 0),
              VK_SUCCESS);
    return made;
  }
  [[nodiscard]] VkSemaphore semaphore(bool is_timeline) const {
    auto kind = described<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    kind.semaphoreType = is_timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
    auto exported =
        described<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
    exported.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    exported.pNext = &kind;
    auto about = described<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    about.pNext = &exported;
    VkSemaphore made = VK_NULL_HANDLE;
    EXPECT_EQ(call<PFN_vkCreateSemaphore>("vkCreateSemaphore")(device_, &about, nullptr, &made),
              VK_SUCCESS);
    return made;
  }
  [[nodiscard]] int descriptor_of(VkSemaphore semaphore) const {
    auto about = described<VkSemaphoreGetFdInfoKHR>(VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR);
    about.semaphore = semaphore;
    about.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    int descriptor = -1;
    EXPECT_EQ(call<PFN_vkGetSemaphoreFdKHR>("vkGetSemaphoreFdKHR")(device_, &about, &descriptor),
              VK_SUCCESS);
    return descriptor;
  }

  struct Sync {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
  };
  /// Records commands and submits them, after a semaphore and before another one.
  template <class Record>
  void submit(const Record& record, const std::optional<Sync>& after,
              const std::optional<Sync>& before) const {
    auto about =
        described<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    about.commandPool = pool_;
    about.commandBufferCount = 1;
    VkCommandBuffer commands = nullptr;
    call<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device_, &about, &commands);
    auto begin = described<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    call<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin);
    record(commands);
    call<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands);
    auto values =
        described<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    auto submitted = described<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submitted.pNext = &values;
    submitted.commandBufferCount = 1;
    submitted.pCommandBuffers = &commands;
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    if (after) {
      submitted.waitSemaphoreCount = values.waitSemaphoreValueCount = 1;
      submitted.pWaitSemaphores = &after->semaphore;
      submitted.pWaitDstStageMask = &stage;
      values.pWaitSemaphoreValues = &after->value;
    }
    if (before) {
      submitted.signalSemaphoreCount = values.signalSemaphoreValueCount = 1;
      submitted.pSignalSemaphores = &before->semaphore;
      values.pSignalSemaphoreValues = &before->value;
    }
    EXPECT_EQ(call<PFN_vkQueueSubmit>("vkQueueSubmit")(queue_, 1, &submitted, VK_NULL_HANDLE),
              VK_SUCCESS);
  }
  void wait() const { call<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue_); }

 private:
  std::string open_queue() {
    std::uint32_t count = 16;
    std::array<VkQueueFamilyProperties, 16> families{};
    call<PFN_vkGetPhysicalDeviceQueueFamilyProperties>("vkGetPhysicalDeviceQueueFamilyProperties")(
        physical_, &count, families.data());
    std::uint32_t family = 0;
    while (family < count && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) {
      ++family;
    }
    const float priority = 1;
    auto queue = described<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue.queueFamilyIndex = family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    auto timelines = described<VkPhysicalDeviceTimelineSemaphoreFeatures>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    timelines.timelineSemaphore = VK_TRUE;
    const std::array<const char*, 2> extensions = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                                   VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    auto about = described<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    about.pNext = &timelines;
    about.queueCreateInfoCount = 1;
    about.pQueueCreateInfos = &queue;
    about.enabledExtensionCount = extensions.size();
    about.ppEnabledExtensionNames = extensions.data();
    if (call<PFN_vkCreateDevice>("vkCreateDevice")(physical_, &about, nullptr, &device_) !=
        VK_SUCCESS) {
      return "the device of Vulkan shares no memory";
    }
    call<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device_, family, 0, &queue_);
    auto pool = described<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = family;
    call<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device_, &pool, nullptr, &pool_);
    return "";
  }

  PFN_vkGetInstanceProcAddr find_ = nullptr;
  VkInstance instance_ = nullptr;
  VkPhysicalDevice physical_ = nullptr;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
};

/// Skipped without such a device, unless REQUIRE_GRAPHICS=1.
class Vulkan : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    const std::string why = vulkan_.open(gpu().info().uuid);
    const char* const required = std::getenv("REQUIRE_GRAPHICS");
    if (!why.empty() && required != nullptr && std::string(required) == "1") {
      FAIL() << why;
    }
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  /// What the host reads of a buffer after the queue's work.
  [[nodiscard]] std::vector<float> values_of(const VulkanDevice::Allocation& allocation,
                                             std::size_t count) const {
    vulkan_.wait();
    void* pointer = nullptr;
    vulkan_.call<PFN_vkMapMemory>("vkMapMemory")(vulkan_.get(), allocation.memory, 0, VK_WHOLE_SIZE,
                                                 0, &pointer);
    std::vector<float> values(count);
    std::memcpy(values.data(), pointer, 4 * count);
    vulkan_.call<PFN_vkUnmapMemory>("vkUnmapMemory")(vulkan_.get(), allocation.memory);
    return values;
  }
  void drop(VkBuffer buffer, const VulkanDevice::Allocation& allocation) const {
    vulkan_.call<PFN_vkDestroyBuffer>("vkDestroyBuffer")(vulkan_.get(), buffer, nullptr);
    vulkan_.call<PFN_vkFreeMemory>("vkFreeMemory")(vulkan_.get(), allocation.memory, nullptr);
  }
  void drop(VkSemaphore semaphore) const {
    vulkan_.call<PFN_vkDestroySemaphore>("vkDestroySemaphore")(vulkan_.get(), semaphore, nullptr);
  }

  VulkanDevice vulkan_;
};

// A fill by Vulkan, a kernel, a copy by Vulkan: no host waits in between.
TEST_F(Vulkan, QueuesAndStreamsTakeTurnsOnABuffer) {
  constexpr std::size_t count = 1000;
  VkBuffer const shared = vulkan_.buffer(4 * count, true);
  const VulkanDevice::Allocation memory = vulkan_.bind(shared, true);
  VkBuffer const read = vulkan_.buffer(4 * count, false);
  const VulkanDevice::Allocation read_memory = vulkan_.bind(read, false);
  VkSemaphore const filled = vulkan_.semaphore(false);
  VkSemaphore const turns = vulkan_.semaphore(true);
  {
    const ExternalMemory imported(gpu(), vulkan_.descriptor_of(memory),
                                  {.size_bytes = memory.size_bytes, .is_dedicated = true});
    const ExternalSemaphore after_fill(gpu(), vulkan_.descriptor_of(filled));
    const ExternalSemaphore timeline(gpu(), vulkan_.descriptor_of(turns),
                                     ExternalSemaphoreKind::timeline);
    const Program program = Program::compile(gpu(), R"(
extern "C" __global__ void scale(float *a, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) a[i] = 3.0f * a[i] + i;
}
)");
    const auto scale = program.function<float*, int>("scale");
    const Stream stream(gpu());
    const BufferRef<float> values = imported.ref().as<float>().subrange(0, count);
    vulkan_.submit(
        [&](VkCommandBuffer commands) {
          const float two = 2;
          std::uint32_t bits = 0;
          std::memcpy(&bits, &two, sizeof bits);
          vulkan_.call<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands, shared, 0, 4 * count,
                                                               bits);
        },
        std::nullopt, VulkanDevice::Sync{filled});
    after_fill.wait(stream);
    scale(stream, {4, 256}, values, static_cast<int>(count));
    timeline.signal(stream, 5);
    timeline.wait(stream, 5);
    scale(stream, {4, 256}, values, static_cast<int>(count));
    timeline.signal(stream, 6);
    vulkan_.submit(
        [&](VkCommandBuffer commands) {
          const VkBufferCopy all = {0, 0, 4 * count};
          vulkan_.call<PFN_vkCmdCopyBuffer>("vkCmdCopyBuffer")(commands, shared, read, 1, &all);
        },
        VulkanDevice::Sync{turns, 6}, std::nullopt);
    const std::vector<float> found = values_of(read_memory, count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(found[i], 18.0F + 4.0F * static_cast<float>(i)) << i;
    }
  }
  drop(shared, memory);
  drop(read, read_memory);
  drop(filled);
  drop(turns);
}

TEST_F(Vulkan, KernelsReadAndWriteItsImages) {
  constexpr std::uint32_t width = 16;
  constexpr std::uint32_t height = 8;
  auto external = described<VkExternalMemoryImageCreateInfo>(
      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  auto about = described<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  about.pNext = &external;
  about.imageType = VK_IMAGE_TYPE_2D;
  about.format = VK_FORMAT_R32G32B32A32_SFLOAT;
  about.extent = {width, height, 1};
  about.mipLevels = about.arrayLayers = 1;
  about.samples = VK_SAMPLE_COUNT_1_BIT;
  about.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                VK_IMAGE_USAGE_STORAGE_BIT;
  VkImage image = VK_NULL_HANDLE;
  ASSERT_EQ(
      vulkan_.call<PFN_vkCreateImage>("vkCreateImage")(vulkan_.get(), &about, nullptr, &image),
      VK_SUCCESS);
  VkMemoryRequirements needs;
  vulkan_.call<PFN_vkGetImageMemoryRequirements>("vkGetImageMemoryRequirements")(vulkan_.get(),
                                                                                 image, &needs);
  const VulkanDevice::Allocation memory = vulkan_.allocate(needs, true, VK_NULL_HANDLE, image);
  ASSERT_EQ(vulkan_.call<PFN_vkBindImageMemory>("vkBindImageMemory")(vulkan_.get(), image,
                                                                     memory.memory, 0),
            VK_SUCCESS);
  VkBuffer const read = vulkan_.buffer(16 * width * height, false);
  const VulkanDevice::Allocation read_memory = vulkan_.bind(read, false);
  VkSemaphore const turns = vulkan_.semaphore(true);
  const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  {
    const ExternalMemory imported(gpu(), vulkan_.descriptor_of(memory),
                                  {.size_bytes = memory.size_bytes, .is_dedicated = true});
    const ExternalSemaphore timeline(gpu(), vulkan_.descriptor_of(turns),
                                     ExternalSemaphoreKind::timeline);
    vulkan_.submit(
        [&](VkCommandBuffer commands) {
          auto barrier = described<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
          barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
          barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
          barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
          barrier.image = image;
          barrier.subresourceRange = all;
          vulkan_.call<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(
              commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
              nullptr, 0, nullptr, 1, &barrier);
          const VkClearColorValue colour = {{1, 2, 3, 4}};
          vulkan_.call<PFN_vkCmdClearColorImage>("vkCmdClearColorImage")(
              commands, image, VK_IMAGE_LAYOUT_GENERAL, &colour, 1, &all);
        },
        std::nullopt, VulkanDevice::Sync{turns, 1});
    const Program program = Program::compile(gpu(), R"(
extern "C" __global__ void paint(cudaTextureObject_t t, cudaSurfaceObject_t s) {
  const int x = threadIdx.x, y = threadIdx.y;
  float4 v = tex2D<float4>(t, x + 0.5f, y + 0.5f);
  v.x += x;
  v.y += y;
  __syncthreads();
  surf2Dwrite(v, s, 16 * x, y);
}
)");
    const auto paint = program.function<TextureRef, SurfaceRef>("paint");
    const Stream stream(gpu());
    const ImageArray texels =
        imported.image({.kind = TexelKind::f32, .channels = 4, .extent = {width, height, 0}});
    const Texture texture(texels);
    const Surface surface(texels);
    timeline.wait(stream, 1);
    paint(stream, {1, {width, height}}, texture, surface);
    timeline.signal(stream, 2);
    vulkan_.submit(
        [&](VkCommandBuffer commands) {
          VkBufferImageCopy part = {};
          part.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
          part.imageExtent = {width, height, 1};
          vulkan_.call<PFN_vkCmdCopyImageToBuffer>("vkCmdCopyImageToBuffer")(
              commands, image, VK_IMAGE_LAYOUT_GENERAL, read, 1, &part);
        },
        VulkanDevice::Sync{turns, 2}, std::nullopt);
    const std::vector<float> found = values_of(read_memory, std::size_t{4} * width * height);
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const float* const texel = &found[4 * (width * y + x)];
        ASSERT_EQ(texel[0], 1.0F + static_cast<float>(x));
        ASSERT_EQ(texel[1], 2.0F + static_cast<float>(y));
        ASSERT_EQ(texel[2], 3.0F);
        ASSERT_EQ(texel[3], 4.0F);
      }
    }
  }
  vulkan_.call<PFN_vkDestroyImage>("vkDestroyImage")(vulkan_.get(), image, nullptr);
  vulkan_.call<PFN_vkFreeMemory>("vkFreeMemory")(vulkan_.get(), memory.memory, nullptr);
  drop(read, read_memory);
  drop(turns);
}

}  // namespace
}  // namespace rtcg::runtime
#endif
