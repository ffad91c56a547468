// Model folders made up for a test: seeded random weights under Hugging Face names, in a temporary
// folder that goes with the object. The text of config.json and the bytes of model.safetensors may
// be changed before or after they are written.
#ifndef BATCHVAR_TESTS_KERNELS_DECODER_FOLDER_H_
#define BATCHVAR_TESTS_KERNELS_DECODER_FOLDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace batchvar {

struct TestTensor {
  std::string dtype = "BF16";
  std::vector<int64_t> shape;
  std::string bytes;
};

// The file's bytes: tensors in the map's order, without gaps.
std::string SafetensorsBytes(const std::map<std::string, TestTensor>& tensors);

class TestFolder {
 public:
  TestFolder();  // empty
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const;

  // config.json and model.safetensors of a random model. `config` is the JSON text; it must load.
  void WriteRandomModel(const std::string& config, uint64_t seed) const;

 private:
  std::string path_;
};

// Configurations of small models: 2 layers, hidden 64, 4 heads of 16, 2 KV heads, 128 tokens.
// Family is "LlamaForCausalLM", "Qwen3ForCausalLM", "MixtralForCausalLM" or "Qwen3MoeForCausalLM".
std::string SmallConfig(const std::string& family);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_DECODER_FOLDER_H_
