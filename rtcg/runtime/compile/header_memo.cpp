#include "rtcg/runtime/compile/header_memo.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

constexpr std::string_view magic = "rtcghdr1";
constexpr std::size_t most_headers = 20'000;

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string file_of(const std::string& folder) {
  return folder + "/headers";
}

}  // namespace

std::optional<FileStamp> file_stamp(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return FileStamp{static_cast<std::int64_t>(status.st_ino),
                   status.st_size,
                   status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec,
                   status.st_ctim.tv_sec,
                   status.st_ctim.tv_nsec};
}

HeaderMemo& HeaderMemo::instance() {
  static HeaderMemo memo;
  return memo;
}

void HeaderMemo::use_folder(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (folder.empty() || folder == folder_) {
    return;
  }
  folder_ = folder;
  is_load_due_ = true;
}

// Put off until a header is asked for: it costs half a millisecond, which a lookup of a source
// without such headers need not pay.
void HeaderMemo::load() {
  is_load_due_ = false;
  const auto bytes = read_file(file_of(folder_));
  constexpr std::size_t head_bytes = magic.size() + sizeof(Digest);
  if (!bytes || bytes->size() < head_bytes || bytes->rfind(magic, 0) != 0) {
    return;
  }
  const std::string_view body = std::string_view(*bytes).substr(head_bytes);
  if (view(sha256(body)) != std::string_view(*bytes).substr(magic.size(), sizeof(Digest))) {
    return;
  }
  ByteReader reader(body);
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    std::string path(reader.text());
    FileStamp stamp = {};
    for (std::int64_t& number : stamp) {
      number = static_cast<std::int64_t>(reader.number());
    }
    auto header = std::make_shared<ScannedHeader>();
    const std::string_view digest = reader.text();
    std::memcpy(header->digest.data(), digest.data(), std::min(digest.size(), sizeof(Digest)));
    for (std::uint64_t names = reader.number(); names > 0 && reader.is_good(); --names) {
      const bool is_quoted = reader.number() != 0;
      header->includes.push_back({std::string(reader.text()), is_quoted});
    }
    headers_.try_emplace(std::move(path), stamp, std::move(header));
  }
}

std::shared_ptr<const ScannedHeader> HeaderMemo::find(const std::string& path,
                                                      const FileStamp& stamp) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_load_due_) {
    load();
  }
  const auto found = headers_.find(path);
  return found != headers_.end() && found->second.first == stamp ? found->second.second : nullptr;
}

void HeaderMemo::add(const std::string& path, const FileStamp& stamp,
                     std::shared_ptr<const ScannedHeader> header) {
  const std::int64_t now = ::time(nullptr);
  const std::int64_t changed = std::max(stamp[2], stamp[4]);
  if (changed > now - 3) {
    return;  // it may still be being written (or the clock is wrong)
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (headers_.size() >= most_headers) {
    headers_.clear();
  }
  headers_.insert_or_assign(path, Known{stamp, std::move(header)});
  has_news_ = true;
}

void HeaderMemo::save() {
  ByteWriter writer;
  std::string target;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_news_ || folder_.empty()) {
      return;
    }
    has_news_ = false;
    target = file_of(folder_);
    writer.number(headers_.size());
    for (const auto& [path, known] : headers_) {
      writer.text(path);
      for (const std::int64_t number : known.first) {
        writer.number(static_cast<std::uint64_t>(number));
      }
      writer.text(view(known.second->digest));
      writer.number(known.second->includes.size());
      for (const IncludeName& include : known.second->includes) {
        writer.number(include.is_quoted ? 1 : 0);
        writer.text(include.name);
      }
    }
  }
  static_cast<void>(write_file_atomically(
      target, fmt::format("{}{}{}", magic, view(sha256(writer.bytes())), writer.bytes())));
}

void HeaderMemo::remove_from(const std::string& folder) {
  ::unlink(file_of(folder).c_str());
}

}  // namespace rtcg::runtime
