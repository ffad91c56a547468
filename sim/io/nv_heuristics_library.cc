#include "sim/io/nv_heuristics_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <system_error>
#include <type_traits>
#include <vector>

#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr int kSuccess = 1;
constexpr int kPartialProfile = 2;  // not an error: the analytic model answers

constexpr char kAdvice[] =
    "; `pip install nvidia-matmul-heuristics==0.1.0.27` puts the library into Python's "
    "site-packages folder as nvidia/nvMatmulHeuristics/lib/libnvMatmulHeuristics.so.0: give its "
    "path as policies.gemm.library";

absl::Status Unusable(const std::string& path, const std::string& why) {
  return InputError({path, 0, 0, ""}, why + kAdvice);
}

std::mutex& LibraryLock() {
  static std::mutex lock;
  return lock;
}

}  // namespace

struct NvHeuristicsLibrary::Functions {
  unsigned (*version_major)();
  unsigned (*version_minor)();
  unsigned (*version_string)(char*, unsigned);
  int (*create)(void**);
  int (*destroy)(void**);
  int (*descriptor_create)(void**);
  int (*descriptor_destroy)(void**);
  int (*descriptor_set_gpu)(void*, int32_t);
  int (*load_profile)(void*, const char*, int32_t, int32_t, void*);
  unsigned (*get_configs)(void*, const char*, unsigned, int32_t, const NvProblem*, NvKernel*,
                          unsigned, void*);

  // The name of the first function that is not there; null when all are.
  const char* Resolve(void* shared_object);
};

const char* NvHeuristicsLibrary::Functions::Resolve(void* shared_object) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    void* address = dlsym(shared_object, name);
    if (address == nullptr && missing == nullptr) missing = name;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(address);
  };
  find("nvMatmulHeuristicsGetVersionMajor", &version_major);
  find("nvMatmulHeuristicsGetVersionMinor", &version_minor);
  find("nvMatmulHeuristicsGetVersionString", &version_string);
  find("nvMatmulHeuristicsCreate", &create);
  find("nvMatmulHeuristicsDestroy", &destroy);
  find("nvMatmulHeuristicsHardwareDescriptorCreate", &descriptor_create);
  find("nvMatmulHeuristicsHardwareDescriptorDestroy", &descriptor_destroy);
  find("nvMatmulHeuristicsHardwareDescriptorSetPredefinedGpu", &descriptor_set_gpu);
  find("nvMatmulHeuristicsLoadInternalDiscoverySet", &load_profile);
  find("nvMatmulHeuristicsGetGemmConfig", &get_configs);
  return missing;
}

NvHeuristicsLibrary::NvHeuristicsLibrary() : functions_(std::make_unique<Functions>()) {}

absl::StatusOr<std::unique_ptr<NvHeuristicsLibrary>> NvHeuristicsLibrary::Open(
    const std::string& path) {
  std::unique_ptr<NvHeuristicsLibrary> library(new NvHeuristicsLibrary());
  const std::lock_guard<std::mutex> lock(LibraryLock());
  if (absl::Status status = library->Start(path); !status.ok()) return status;
  return library;
}

absl::Status NvHeuristicsLibrary::Start(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Unusable(path, "there is no such file");
  }
  // An absolute path, or dlopen would look for a bare name in the system's folders.
  const std::string absolute = std::filesystem::absolute(path, error).string();
  shared_object_ = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (shared_object_ == nullptr) {
    const char* why = dlerror();
    return Unusable(path, "cannot be loaded as a shared library (" +
                              std::string(why == nullptr ? "no reason given" : why) + ")");
  }
  if (const char* missing = functions_->Resolve(shared_object_); missing != nullptr) {
    return Unusable(path, "has no function " + std::string(missing) +
                              ", so it is not nvMatmulHeuristics or has another interface");
  }
  char text[64] = {};
  functions_->version_string(text, sizeof(text) - 1);
  version_ = text;
  const unsigned major = functions_->version_major();
  const unsigned minor = functions_->version_minor();
  if (major != 0 || minor != 1) {
    return Unusable(path, "is version " + version_ + "; only 0.1 has the interface that is known");
  }
  if (const int status = functions_->create(&handle_); status != kSuccess || handle_ == nullptr) {
    return Unusable(path,
                    "does not start: nvMatmulHeuristicsCreate returned " + std::to_string(status));
  }
  return absl::OkStatus();
}

NvHeuristicsLibrary::~NvHeuristicsLibrary() {
  const std::lock_guard<std::mutex> lock(LibraryLock());
  for (auto& [gpu, descriptor] : descriptors_) {
    if (descriptor != nullptr) functions_->descriptor_destroy(&descriptor);
  }
  if (handle_ != nullptr) functions_->destroy(&handle_);
  if (shared_object_ != nullptr) dlclose(shared_object_);
}

void* NvHeuristicsLibrary::DescriptorOf(int32_t gpu) {
  const auto [entry, is_new] = descriptors_.emplace(gpu, nullptr);
  if (!is_new) return entry->second;
  void* descriptor = nullptr;
  if (functions_->descriptor_create(&descriptor) != kSuccess) return nullptr;
  if (functions_->descriptor_set_gpu(descriptor, gpu) != kSuccess) {
    functions_->descriptor_destroy(&descriptor);
    return nullptr;
  }
  return entry->second = descriptor;
}

int32_t NvHeuristicsLibrary::ProfileOf(const NvQuestion& question, void* descriptor) {
  const uint8_t layout = question.problem.layout;
  const ProfileKey key(question.gpu, question.types, question.target, layout);
  const auto [entry, is_new] = profiles_.emplace(key, 0);
  if (is_new) {
    entry->second =
        functions_->load_profile(handle_, question.types, question.target, layout, descriptor);
  }
  return entry->second;
}

NvAnswer NvHeuristicsLibrary::Ask(const NvQuestion& question) {
  NvAnswer answer;
  const std::lock_guard<std::mutex> lock(LibraryLock());
  // Without a descriptor the library would answer for a GPU of its own choice.
  void* const descriptor = DescriptorOf(question.gpu);
  if (descriptor == nullptr) return answer;
  answer.profile = ProfileOf(question, descriptor);
  if (answer.profile != kSuccess && answer.profile != kPartialProfile) return answer;
  std::vector<NvKernel> kernels(question.candidates, NvKernel{});
  const unsigned count =
      functions_->get_configs(handle_, question.types, question.flags, question.target,
                              &question.problem, kernels.data(), question.candidates, descriptor);
  if (count == 0) return answer;
  answer.found = true;
  answer.kernel = kernels.front();
  return answer;
}

}  // namespace batchvar
