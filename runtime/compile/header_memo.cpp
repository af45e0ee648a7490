#include "rtcg/runtime/compile/header_memo.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

constexpr std::string_view header_magic = "rtcghdr2";
constexpr std::size_t most_headers = 20'000;

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string file_of(const std::string& folder) {
  return folder + "/headers";
}

}  // namespace

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

// Deferred until a header is needed: it costs half a millisecond, and sources without such headers
// do not need it.
void HeaderMemo::load() {
  is_load_due_ = false;
  auto bytes = read_file(file_of(folder_));
  constexpr std::size_t head_bytes = header_magic.size() + sizeof(Digest);
  if (!bytes || bytes->size() < head_bytes || bytes->rfind(header_magic, 0) != 0) {
    return;
  }
  const std::string_view body = std::string_view(*bytes).substr(head_bytes);
  if (view(sha256(body)) != std::string_view(*bytes).substr(header_magic.size(), sizeof(Digest))) {
    return;
  }
  // The names stay where they are: there are thousands, and copying would take half of the time.
  const auto kept = std::make_shared<const std::string>(std::move(*bytes));
  ByteReader reader(std::string_view(*kept).substr(head_bytes));
  std::vector<std::string_view> names;
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    names.push_back(reader.text());
  }
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    std::string path(reader.text());
    FileStamp stamp = {};
    for (std::int64_t& number : stamp) {
      number = static_cast<std::int64_t>(reader.number());
    }
    auto header = std::make_shared<ScannedHeader>();
    header->names = kept;
    const std::string_view digest = reader.text();
    std::memcpy(header->digest.data(), digest.data(), std::min(digest.size(), sizeof(Digest)));
    const std::uint64_t count = reader.number();
    header->includes.reserve(std::min<std::uint64_t>(count, kept->size() / sizeof count));
    for (std::uint64_t i = 0; i < count && reader.is_good(); ++i) {
      const std::uint64_t number = reader.number();
      if (number / 2 < names.size()) {
        header->includes.push_back({names[number / 2], number % 2 != 0});
      }
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
  if (!is_settled(stamp)) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (headers_.size() >= most_headers) {
    headers_.clear();
  }
  headers_.insert_or_assign(path, Known{stamp, std::move(header)});
  has_news_ = true;
}

// Headers name each other again and again: each name is in the file once, and an include is twice
// its number, plus 1 if it is quoted.
std::string HeaderMemo::bytes_of_headers() const {
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  std::vector<std::string_view> names;
  for (const auto& header : headers_) {
    for (const IncludeName& include : header.second.second->includes) {
      if (numbers.try_emplace(include.name, names.size()).second) {
        names.push_back(include.name);
      }
    }
  }
  ByteWriter writer;
  writer.number(names.size());
  for (const std::string_view name : names) {
    writer.text(name);
  }
  writer.number(headers_.size());
  for (const auto& [path, known] : headers_) {
    writer.text(path);
    for (const std::int64_t number : known.first) {
      writer.number(static_cast<std::uint64_t>(number));
    }
    writer.text(view(known.second->digest));
    writer.number(known.second->includes.size());
    for (const IncludeName& include : known.second->includes) {
      writer.number(2 * numbers.at(include.name) + (include.is_quoted ? 1 : 0));
    }
  }
  return writer.bytes();
}

void HeaderMemo::save() {
  std::string bytes;
  std::string target;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_news_ || folder_.empty()) {
      return;
    }
    has_news_ = false;
    target = file_of(folder_);
    bytes = bytes_of_headers();
  }
  static_cast<void>(write_file_atomically(
      target, fmt::format("{}{}{}", header_magic, view(sha256(bytes)), bytes)));
}

}  // namespace rtcg::runtime
