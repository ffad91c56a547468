#include "kernels/decoder/safetensors_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
// The format's own limit, against headers that eat all memory.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// Bytes of an element; 0 for a word that the format does not know.
int64_t ElementBytes(const std::string& dtype) {
  static const std::map<std::string, int64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
      {"F32", 4},  {"I64", 8}, {"U64", 8}, {"F64", 8},     {"C64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

bool IsLength(const Json& value) {
  return value.is_number_unsigned() &&
         value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
}

bool IsListOfLengths(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), IsLength);
}

// A tensor's entry and where its bytes lie behind the header.
struct Entry {
  std::string name;
  TensorView view;
  int64_t begin = 0;
  int64_t end = 0;
};

// One entry of the header, checked on its own. "" or what is wrong.
std::string ReadEntry(const Json& json, Entry* entry) {
  if (!json.is_object()) return "the header's entry is not an object";
  const auto dtype = json.find("dtype");
  if (dtype == json.end() || !dtype->is_string()) return "the header gives no dtype";
  const auto shape = json.find("shape");
  if (shape == json.end() || !IsListOfLengths(*shape)) {
    return "the header gives no shape of whole numbers";
  }
  const auto offsets = json.find("data_offsets");
  if (offsets == json.end() || !IsListOfLengths(*offsets) || offsets->size() != 2) {
    return "the header gives no data_offsets [begin, end]";
  }
  entry->view.dtype = dtype->get<std::string>();
  entry->view.shape = shape->get<std::vector<int64_t>>();
  entry->begin = (*offsets)[0].get<int64_t>();
  entry->end = (*offsets)[1].get<int64_t>();
  if (entry->end < entry->begin) {
    return absl::StrCat("data_offsets [", entry->begin, ", ", entry->end,
                        "] end before they begin");
  }
  int64_t bytes = ElementBytes(entry->view.dtype);
  if (bytes == 0) return absl::StrCat("dtype ", dtype->dump(), " is not one of the format");
  for (const int64_t length : entry->view.shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) {
      return absl::StrCat("shape [", absl::StrJoin(entry->view.shape, ", "), "] overflows");
    }
  }
  if (bytes != entry->end - entry->begin) {
    return absl::StrCat("shape [", absl::StrJoin(entry->view.shape, ", "), "] of ",
                        entry->view.dtype, " needs ", bytes, " bytes, data_offsets give ",
                        entry->end - entry->begin);
  }
  return "";
}

// The entries must fill the data without a gap or an overlap, as the format demands.
absl::Status CheckLayout(const std::string& path, std::vector<Entry>* entries, int64_t data_bytes) {
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t end = 0;
  for (const Entry& entry : *entries) {
    const Location where = {.file = path, .field = entry.name};
    if (entry.end > data_bytes) {
      return InputError(where, absl::StrCat("its bytes end at ", entry.end, " of the data, which ",
                                            "has ", data_bytes, ": is the file cut off?"));
    }
    if (entry.begin != end) {
      return InputError(where, absl::StrCat("its bytes begin at ", entry.begin, " of the data, ",
                                            "those before it end at ", end));
    }
    end = entry.end;
  }
  if (end == data_bytes) return absl::OkStatus();
  return InputError({.file = path}, absl::StrCat(data_bytes - end, " bytes behind the last tensor ",
                                                 "belong to none"));
}

// The header, with a key that comes twice as an error (JSON readers would drop one silently).
absl::Status ParseHeader(const std::string& path, const char* begin, const char* end,
                         Json* header) {
  std::set<std::string> names;
  std::string twice;
  bool unprintable = false;
  const auto note = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto name = parsed.get<std::string>();
      if (!names.insert(name).second) twice = name;
      unprintable = unprintable || !IsPrintable(name);
    }
    return true;
  };
  *header = Json::parse(begin, end, note, /*allow_exceptions=*/false);
  if (header->is_discarded() || !header->is_object()) {
    return InputError({.file = path},
                      "its header is not a JSON object: is this a safetensors "
                      "file, and complete?");
  }
  if (unprintable) {
    return InputError({.file = path}, "a tensor's name has characters that are not printable");
  }
  if (twice.empty()) return absl::OkStatus();
  return InputError({.file = path, .field = twice}, "the header has it twice");
}

}  // namespace

bool IsPrintable(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

absl::Status SafetensorsFile::Map() {
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return InputError({.file = path_}, absl::StrCat("cannot be opened: ", std::strerror(errno)));
  }
  struct stat info = {};
  const bool known = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  size_ = known ? static_cast<size_t>(info.st_size) : 0;
  void* memory =
      size_ == 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (!known) return InputError({.file = path_}, "is not a regular file");
  if (size_ == 0) return InputError({.file = path_}, "is empty");
  if (memory == MAP_FAILED) {
    return InputError({.file = path_}, absl::StrCat("cannot be mapped: ", std::strerror(errno)));
  }
  memory_ = std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(memory),
      [size = size_](const std::byte* p) { munmap(const_cast<std::byte*>(p), size); });
  return absl::OkStatus();
}

absl::Status SafetensorsFile::ReadHeader() {
  if (size_ < kLengthBytes) {
    return InputError({.file = path_}, "is shorter than the 8 bytes of a header length");
  }
  uint64_t length = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<uint64_t>(memory_.get()[i]) << (8 * i);
  }
  if (length > kMaxHeaderBytes || length > size_ - kLengthBytes) {
    return InputError({.file = path_},
                      absl::StrCat("its header should have ", length, " bytes, the file has ",
                                   size_, ": is it cut off?"));
  }
  const char* text = reinterpret_cast<const char*>(memory_.get()) + kLengthBytes;
  Json header;
  if (absl::Status status = ParseHeader(path_, text, text + length, &header); !status.ok()) {
    return status;
  }
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") continue;
    Entry& entry = entries.emplace_back();
    entry.name = name;
    const std::string wrong = ReadEntry(json, &entry);
    if (!wrong.empty()) return InputError({.file = path_, .field = name}, wrong);
  }
  const std::byte* data = memory_.get() + kLengthBytes + length;
  const auto data_bytes = static_cast<int64_t>(size_ - kLengthBytes - length);
  if (absl::Status status = CheckLayout(path_, &entries, data_bytes); !status.ok()) return status;
  for (Entry& entry : entries) {
    entry.view.bytes = {data + entry.begin, static_cast<size_t>(entry.end - entry.begin)};
    tensors_.emplace(std::move(entry.name), std::move(entry.view));
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  if (absl::Status status = file.Map(); !status.ok()) return status;
  if (absl::Status status = file.ReadHeader(); !status.ok()) return status;
  return file;
}

const TensorView* SafetensorsFile::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace batchvar
