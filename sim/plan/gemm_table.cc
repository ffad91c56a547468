#include "sim/plan/gemm_table.h"

#include <algorithm>
#include <functional>

namespace batchvar {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool SameGpuName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string GemmKeyWords(std::string_view gpu, const GemmShape& shape) {
  return "gpu " + std::string(gpu) + ", " + DTypeName(shape.dtype) + ", M " +
         std::to_string(shape.m) + ", N " + std::to_string(shape.n) + ", K " +
         std::to_string(shape.k);
}

size_t GemmTable::IndexOf(std::string_view gpu) const {
  const auto found = std::find_if(gpus_.begin(), gpus_.end(), [gpu](const std::string& name) {
    return SameGpuName(name, gpu);
  });
  return static_cast<size_t>(found - gpus_.begin());
}

bool GemmTable::Add(std::string_view gpu, const GemmShape& shape, GemmTableRow row) {
  const size_t index = IndexOf(gpu);
  if (index == gpus_.size()) gpus_.emplace_back(gpu);
  const Key key = {index, shape.dtype, shape.n, shape.k, shape.m};
  return rows_.emplace(key, std::move(row)).second;
}

const GemmTableRow* GemmTable::Find(std::string_view gpu, const GemmShape& shape) const {
  const auto found = rows_.find(Key{IndexOf(gpu), shape.dtype, shape.n, shape.k, shape.m});
  return found == rows_.end() ? nullptr : &found->second;
}

std::string GemmTable::WhyMissing(std::string_view gpu, const GemmShape& shape) const {
  std::string gpus;
  for (const std::string& name : gpus_) gpus += (gpus.empty() ? "" : ", ") + name;
  return "has no row for " + GemmKeyWords(gpu, shape) + "; it has rows for " + gpus;
}

bool BlockKTable::Add(std::string_view arch, int64_t n, int64_t k, int32_t block_k) {
  return rows_.emplace(std::tuple(std::string(arch), n, k), block_k).second;
}

int32_t BlockKTable::Find(int32_t compute_capability, int64_t n, int64_t k) const {
  const std::string_view arch = ArchitectureName(compute_capability);
  const auto found = rows_.find(std::tuple(arch, n, k));
  return found == rows_.end() ? 0 : found->second;
}

const char* ArchitectureName(int32_t compute_capability) {
  switch (compute_capability / 10) {
    case 8: return compute_capability == 89 ? "ada" : "ampere";
    case 9: return "hopper";
    case 10: return "blackwell";
    case 12: return "sm120";
    default: return "";
  }
}

}  // namespace batchvar
