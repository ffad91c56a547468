// The file of a PackedMatrix: a header of 64 bytes, one flag byte for each panel, zeros up to a
// page, the panels. Little-endian words, as this CPU has them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/cpu/packed_matrix.h"

namespace batchvar {

namespace {

constexpr char kMagic[8] = {'b', 'v', 'p', 'a', 'n', 'e', 'l', '1'};
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kMostElements = int64_t{1} << 40;

struct FileHeader {
  char magic[8] = {};
  int64_t n = 0;
  int64_t k = 0;
  uint32_t dtype = 0;
  uint32_t panel_columns = 0;
  uint64_t weights_checksum = 0;
  uint64_t flags_checksum = 0;
  uint64_t reserved = 0;
  uint64_t header_checksum = 0;  // of all bytes before it
};
static_assert(sizeof(FileHeader) == 64);

// FNV-1a over 64-bit words in eight lanes: a damage check at memory speed, not a signature.
uint64_t Checksum(const void* data, int64_t bytes) {
  constexpr uint64_t kPrime = 0x100000001B3;
  uint64_t lanes[8];
  for (uint64_t i = 0; i < 8; ++i) lanes[i] = 0xCBF29CE484222325 + i;
  const auto* at = static_cast<const unsigned char*>(data);
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, at + i, 64);
    for (int lane = 0; lane < 8; ++lane) lanes[lane] = (lanes[lane] ^ words[lane]) * kPrime;
  }
  for (; i < bytes; ++i) lanes[0] = (lanes[0] ^ at[i]) * kPrime;
  uint64_t all = static_cast<uint64_t>(bytes);
  for (const uint64_t lane : lanes) all = (all ^ lane ^ lane >> 32) * kPrime;
  return all;
}

int64_t PanelsOf(const FileHeader& header) {
  return (header.n + kPanelColumns - 1) / kPanelColumns;
}

int64_t WeightsOffset(const FileHeader& header) {
  const int64_t end = static_cast<int64_t>(sizeof(FileHeader)) + PanelsOf(header);
  return (end + kPageBytes - 1) / kPageBytes * kPageBytes;
}

int64_t WeightBytes(const FileHeader& header) {
  return PanelsOf(header) * (header.k + kPanelPadRows) * kPanelColumns * 2;
}

std::string HeaderProblem(const FileHeader& header, int64_t file_bytes) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return "is not a packed matrix of this version; pack the weights again";
  }
  if (header.header_checksum != Checksum(&header, offsetof(FileHeader, header_checksum))) {
    return "has a damaged header; pack the weights again";
  }
  const bool known_type = header.dtype == static_cast<uint32_t>(DType::kBf16) ||
                          header.dtype == static_cast<uint32_t>(DType::kFp16);
  if (!known_type || header.panel_columns != kPanelColumns || header.n < 1 || header.k < 1 ||
      header.n > kMostElements / header.k) {
    return "describes a matrix that this build cannot read; pack the weights again";
  }
  const int64_t expected = WeightsOffset(header) + WeightBytes(header);
  if (file_bytes != expected) {
    return "has " + std::to_string(file_bytes) + " bytes instead of " + std::to_string(expected) +
           "; it was cut short or changed, pack the weights again";
  }
  return "";
}

struct Mapping {
  void* data = MAP_FAILED;
  size_t bytes = 0;
  ~Mapping() {
    if (data != MAP_FAILED) munmap(data, bytes);
  }
};

// "" and a mapping of the whole file, or what went wrong.
std::string MapFile(const std::string& path, Mapping* mapping) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "cannot be opened: " + std::string(std::strerror(errno));
  struct stat status = {};
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = "cannot be read: " + std::string(std::strerror(errno));
  } else if (status.st_size < static_cast<int64_t>(sizeof(FileHeader))) {
    problem = "is too short to be a packed matrix";
  } else {
    mapping->bytes = static_cast<size_t>(status.st_size);
    mapping->data = mmap(nullptr, mapping->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (mapping->data == MAP_FAILED) {
      problem = "cannot be mapped: " + std::string(std::strerror(errno));
    }
  }
  close(file);
  return problem;
}

}  // namespace

std::string PackedMatrix::Save(const std::string& path) const {
  FileHeader header;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.n = n_;
  header.k = k_;
  header.dtype = static_cast<uint32_t>(dtype_);
  header.panel_columns = kPanelColumns;
  header.weights_checksum = Checksum(words_, WeightBytes(header));
  header.flags_checksum = Checksum(flags_, num_panels());
  header.header_checksum = Checksum(&header, offsetof(FileHeader, header_checksum));
  std::vector<char> front(WeightsOffset(header), 0);
  std::memcpy(front.data(), &header, sizeof(header));
  std::memcpy(front.data() + sizeof(header), flags_, num_panels());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(front.data(), std::ssize(front));
  file.write(reinterpret_cast<const char*>(words_), WeightBytes(header));
  file.close();
  return file ? "" : path + ": cannot be written: " + std::strerror(errno);
}

std::string PackedMatrix::Map(const std::string& path, bool check_weights, PackedMatrix* matrix) {
  const auto mapping = std::make_shared<Mapping>();
  const std::string unreadable = MapFile(path, mapping.get());
  if (!unreadable.empty()) return path + " " + unreadable;
  FileHeader header;
  std::memcpy(&header, mapping->data, sizeof(header));
  const std::string problem = HeaderProblem(header, static_cast<int64_t>(mapping->bytes));
  if (!problem.empty()) return path + " " + problem;

  PackedMatrix mapped;
  mapped.n_ = header.n;
  mapped.k_ = header.k;
  mapped.dtype_ = static_cast<DType>(header.dtype);
  const auto* bytes = static_cast<const uint8_t*>(mapping->data);
  mapped.flags_ = bytes + sizeof(header);
  mapped.words_ = reinterpret_cast<const uint16_t*>(bytes + WeightsOffset(header));
  mapped.memory_ = mapping;
  if (header.flags_checksum != Checksum(mapped.flags_, mapped.num_panels())) {
    return path + " has damaged flags; pack the weights again";
  }
  if (check_weights && header.weights_checksum != Checksum(mapped.words_, WeightBytes(header))) {
    return path + " has damaged weights; pack them again";
  }
  *matrix = mapped;
  return "";
}

}  // namespace batchvar
