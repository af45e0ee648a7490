// What rtcg needs of MPI, without its header: no build needs it.
// Source: mpi.h of Open MPI 4.1 and of MPICH 4.0; the MPICH ABI Compatibility Initiative
#include "rtcg/distributed/mpi/mpi_api.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::distributed::detail {
namespace {

/// Open MPI: handles are addresses of objects that the library exports.
struct OpenMpiAbi {
  using Handle = void*;
  struct Status {
    int source;
    int tag;
    int error;
    int cancelled;
    std::size_t count;
  };
  static constexpr int any_source = -1;
  static constexpr int shared_memory = 0;
  static constexpr int truncated = 15;
  static constexpr const char* symbols[] = {"ompi_mpi_comm_world", "ompi_mpi_byte",
                                            "ompi_mpi_errors_return", "ompi_mpi_info_null"};
  static Handle constant(void* library, int which) { return ::dlsym(library, symbols[which]); }
};

/// MPICH, Intel MPI, MVAPICH and others: handles are numbers.
struct MpichAbi {
  using Handle = int;
  struct Status {
    int count_low;
    int count_high_and_cancelled;
    int source;
    int tag;
    int error;
  };
  static constexpr int any_source = -2;
  static constexpr int shared_memory = 1;
  static constexpr int truncated = 14;
  static constexpr Handle constants[] = {0x44000000, 0x4c00010d, 0x54000001, 0x1c000000};
  static Handle constant(void*, int which) { return constants[which]; }
};

enum Constant { comm_world, byte_type, errors_return, info_null };

// MPI counts in int: longer messages go in several.
constexpr std::size_t longest_message = std::size_t{1} << 30;

template <class Abi>
class MpiOf final : public MpiApi {
 public:
  using Handle = typename Abi::Handle;
  using Status = typename Abi::Status;

  explicit MpiOf(void* library) : library_(library) {
    byte_ = Abi::constant(library, byte_type);
    const Handle world = Abi::constant(library, comm_world);
    int is_initialized = 0;
    call<int*>("MPI_Initialized", &is_initialized);
    if (is_initialized == 0) {
      int provided = 0;
      constexpr int serialized = 2;
      call<int*, char***, int, int*>("MPI_Init_thread", nullptr, nullptr, serialized, &provided);
      started_ = true;
      // errors of requests are the world's there
      call<Handle, Handle>("MPI_Comm_set_errhandler", world, Abi::constant(library, errors_return));
    }
    call<Handle, Handle*>("MPI_Comm_dup", world, &ours_);
    call<Handle, Handle>("MPI_Comm_set_errhandler", ours_, Abi::constant(library, errors_return));
    call<Handle, int*>("MPI_Comm_rank", ours_, &rank_);
    call<Handle, int*>("MPI_Comm_size", ours_, &size_);
    Handle node{};
    call<Handle, int, int, Handle, Handle*>("MPI_Comm_split_type", ours_, Abi::shared_memory, rank_,
                                            Abi::constant(library, info_null), &node);
    call<Handle, int*>("MPI_Comm_rank", node, &node_rank_);
    call<Handle*>("MPI_Comm_free", &node);
    std::vector<char> text(8192, '\0');  // at least MPI_MAX_LIBRARY_VERSION_STRING
    int length = 0;
    call<char*, int*>("MPI_Get_library_version", text.data(), &length);
    name_ = text.data();
    name_ = name_.substr(0, name_.find_first_of(",\n"));
    std::replace(name_.begin(), name_.end(), '\t', ' ');
    if (const std::string word = " Version:"; name_.find(word) != std::string::npos) {
      name_.erase(name_.find(word), word.size());  // as MPICH writes it
    }
  }

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int node_rank() const override { return node_rank_; }

  [[nodiscard]] std::unique_ptr<MpiRequest> send(int to, int tag,
                                                 std::span<const std::byte> bytes) override {
    // the C interface takes no const memory in MPI 2
    auto* const first = const_cast<std::byte*>(bytes.data());
    return std::make_unique<Request>(*this, to, tag, std::span<std::byte>(first, bytes.size()),
                                     true);
  }
  [[nodiscard]] std::unique_ptr<MpiRequest> receive(int from, int tag,
                                                    std::span<std::byte> bytes) override {
    return std::make_unique<Request>(*this, from, tag, bytes, false);
  }

  [[nodiscard]] std::optional<Waiting> waiting(int tag) override {
    int is_there = 0;
    Status status{};
    call<int, int, Handle, int*, Status*>("MPI_Iprobe", Abi::any_source, tag, ours_, &is_there,
                                          &status);
    if (is_there == 0) {
      return std::nullopt;
    }
    return Waiting{status.source, count_of(status)};
  }

  void finish() noexcept override {
    if (started_) {
      int is_finalized = 0;
      if (auto* asked = find<int*>("MPI_Finalized");
          asked != nullptr && asked(&is_finalized) == 0 && is_finalized == 0) {
        if (auto* end = find<>("MPI_Finalize")) {
          end();
        }
      }
    }
  }

 private:
  class Request final : public MpiRequest {
   public:
    Request(MpiOf& mpi, int other, int tag, std::span<std::byte> bytes, bool is_send)
        : mpi_(mpi), other_(other), bytes_(bytes.size()), is_send_(is_send) {
      std::size_t at = 0;
      do {
        const std::size_t count = std::min(longest_message, bytes.size() - at);
        Handle request{};
        mpi.call<void*, int, Handle, int, int, Handle, Handle*>(
            is_send ? "MPI_Isend" : "MPI_Irecv", bytes.data() + at, static_cast<int>(count),
            mpi.byte_, other, tag, mpi.ours_, &request);
        parts_.push_back(request);
        at += count;
      } while (at < bytes.size());
    }

    [[nodiscard]] bool is_done() override {
      while (done_ < parts_.size()) {
        int is_done = 0;
        Status status{};
        auto* test = mpi_.find<Handle*, int*, Status*>("MPI_Test");
        const int error = test(&parts_[done_], &is_done, &status);
        if (error != 0) {
          mpi_.check_truncation(error, other_, bytes_);
          mpi_.fail("MPI_Test", error);
        }
        if (is_done == 0) {
          return false;
        }
        received_ += is_send_ ? 0 : mpi_.count_of(status);
        ++done_;
      }
      if (!is_send_ && received_ != bytes_) {
        mpi_.refuse_length(fmt::format("{}", received_), other_, bytes_);
      }
      return true;
    }

   private:
    MpiOf& mpi_;
    int other_;
    std::size_t bytes_;
    bool is_send_;
    std::vector<Handle> parts_;
    std::size_t done_ = 0;
    std::size_t received_ = 0;
  };

  template <class... Arguments>
  [[nodiscard]] auto find(const char* name) const {
    return reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name));
  }

  template <class... Arguments>
  void call(const char* name, std::type_identity_t<Arguments>... arguments) const {
    auto* const function = find<Arguments...>(name);
    if (function == nullptr) {
      throw Unsupported("distributed.mpi.not_found",
                        fmt::format("the MPI library does not have the function {}", name));
    }
    if (const int error = function(arguments...); error != 0) {
      fail(name, error);
    }
  }

  [[noreturn]] void fail(const char* name, int error) const {
    std::vector<char> text(4096, '\0');
    int length = 0;
    if (auto* explain = find<int, char*, int*>("MPI_Error_string")) {
      explain(error, text.data(), &length);
    }
    throw DeviceError("distributed.mpi.call_failed",
                      fmt::format("MPI cannot continue: {}", text.data()), name,
                      std::to_string(error));
  }
  void check_truncation(int error, int from, std::size_t expected) const {
    int kind = 0;
    if (auto* ask = find<int, int*>("MPI_Error_class");
        ask != nullptr && ask(error, &kind) == 0 && kind == Abi::truncated) {
      refuse_length("more", from, expected);
    }
  }
  [[noreturn]] void refuse_length(const std::string& sent, int from, std::size_t expected) const {
    throw InvalidInput("distributed.exchange.size_mismatch",
                       fmt::format("rank {} sends {} bytes to rank {}, which expects {}", from,
                                   sent, rank_, expected));
  }
  [[nodiscard]] std::size_t count_of(const Status& status) const {
    int count = 0;
    call<const Status*, Handle, int*>("MPI_Get_count", &status, byte_, &count);
    return static_cast<std::size_t>(count);
  }

  void* library_;
  bool started_ = false;
  Handle byte_{};
  Handle ours_{};
  int rank_ = 0;
  int size_ = 1;
  int node_rank_ = 0;
  std::string name_;
};

bool has(void* library, const char* symbol) {
  return ::dlsym(library, symbol) != nullptr;
}

// The libraries that may be meant, the likeliest first.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("RTCG_LIBMPI"); named != nullptr && *named != '\0') {
    return {named};
  }
  std::vector<std::string> result = {"libmpi.so.40", "libmpi.so.80", "libmpich.so.12",
                                     "libmpi.so.12"};
  // launchers of MPICH set what its protocol needs, that of Open MPI says its name
  if (std::getenv("PMI_SIZE") != nullptr && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {
    std::rotate(result.begin(), result.begin() + 2, result.end());
  }
  return result;
}

void* find_library(std::string& tried) {
  if (has(RTLD_DEFAULT, "MPI_Init_thread")) {
    return RTLD_DEFAULT;  // the program's own
  }
  for (const std::string& name : candidates()) {
    // global: plug-ins of Open MPI look for its functions
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      if (has(library, "MPI_Init_thread")) {
        return library;
      }
      tried += fmt::format("; '{}' is not an MPI library", name);
    } else {
      tried += fmt::format("; {}", ::dlerror());
    }
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<MpiApi> open_mpi_library() {
  std::string tried;
  void* const library = find_library(tried);
  if (library == nullptr && !tried.empty()) {
    throw Unsupported("distributed.mpi.not_found",
                      fmt::format("no MPI library can be opened{}: Debian has libopenmpi3 and "
                                  "libmpich12, RTCG_LIBMPI names another file",
                                  tried));
  }
  if (has(library, "ompi_mpi_comm_world")) {
    return std::make_shared<MpiOf<OpenMpiAbi>>(library);
  }
  return std::make_shared<MpiOf<MpichAbi>>(library);
}

}  // namespace rtcg::distributed::detail
