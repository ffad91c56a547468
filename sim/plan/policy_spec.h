// Which decomposition policy each kind of op uses, with its parameters. Read by sim/config from
// `policies:`; keys have the names of the fields. A new policy joins by adding an enum value, its
// parameters here, and an implementation behind the interfaces of gemm_policy.h and
// attention_policy.h.
#ifndef BATCHVAR_SIM_PLAN_POLICY_SPEC_H_
#define BATCHVAR_SIM_PLAN_POLICY_SPEC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace batchvar {

class BlockKTable;
class GemmLookup;

enum class GemmPolicyKind : uint8_t {
  kTextbook,
  kBatchInvariant,
  kCutlassSplitK,
  kStreamK,
  kDeepGemm,
  kGemv,
  kTable,
  kNvHeuristics,
};
enum class AttentionPolicyKind : uint8_t {
  kTextbook,
  kBatchInvariant,
  kFa2,
  kFa3,
  kFlashInfer,
  kVllmTriton,
  kSglangTriton,
  kPagedV1V2,
  kCascade,
};
enum class NormPolicyKind : uint8_t { kNormInvariant, kNormVllm };
enum class AllReducePolicyKind : uint8_t {
  kOneShot,
  kTwoShot,
  kRing,
  kTree,
  kExact,
  kVllm,  // selectors: one of the others, by bytes, ranks and device
  kSglang,
  kOneShotUpTo,
};
enum class MoePolicyKind : uint8_t { kMoeVllm };

// cutlass_splitk: `mode`.
enum class SplitKMode : uint8_t { kSerial, kParallel };
// stream_k: `mode`. Generation 2 has no way to force stream-K.
enum class StreamKMode : uint8_t { kHeuristic, kSplitK, kDataParallel, kStreamK };
// deepgemm: `arch`; auto follows the device's compute capability.
enum class DeepGemmArch : uint8_t { kAuto, kSm90, kSm100 };
// batch_invariant: `variant`.
enum class InvariantVariant : uint8_t { kOneTile, kFreeTile, kSglang, kVllm };
// table, nv_heuristics: `layout`: which of cta_m and cta_n runs over features.
// nt: M = tokens; tn: M = features, as a framework's linear layer calls cuBLAS.
enum class TableLayout : uint8_t { kNt, kTn };
// nv_heuristics: `backend`, the kind of kernels to be chosen from.
enum class NvBackend : uint8_t { kGeneric, kTriton, kCutlass2, kCutlass3 };

// Each policy uses the fields that stand under its name; sim/config refuses the others. A tile key
// of 0 means the policy's own default (TileOf); the values below are textbook's,
// DefaultGemmPolicy() gives any policy's.
struct GemmPolicySpec {
  GemmPolicyKind kind = GemmPolicyKind::kTextbook;
  // textbook, cutlass_splitk, stream_k, batch_invariant
  int32_t tile_m = 16;
  int32_t tile_n = 128;
  int32_t tile_k = 64;
  // textbook, and cutlass_splitk when split_k is 0. Both are this project's choice.
  int32_t k_min = 256;
  int32_t max_split = 32;
  // cutlass_splitk
  int32_t split_k = 0;  // 0: textbook's split
  SplitKMode split_k_mode = SplitKMode::kSerial;
  // stream_k
  int32_t generation = 3;   // 2: CUTLASS 2.x thread-block mapping; 3: CUTLASS 3.x on Hopper
  int32_t cluster_m = 1;    // generation 3, as are cluster_n and max_swizzle
  int32_t cluster_n = 1;    // clusters are powers of two
  int32_t max_swizzle = 1;  // 1, 2, 4 or 8
  int32_t occupancy = 1;    // generation 2: blocks that fit on one SM
  int32_t splits = 1;       // > 1: split-K, in the modes heuristic and split_k
  StreamKMode stream_k_mode = StreamKMode::kHeuristic;
  // deepgemm
  DeepGemmArch arch = DeepGemmArch::kAuto;
  // gemv
  int32_t m_max = 1;
  int32_t lanes = 32;  // a power of two
  int32_t vector_width = 8;
  std::shared_ptr<const GemmPolicySpec> then;  // above m_max; null: textbook with its defaults
  // batch_invariant
  InvariantVariant variant = InvariantVariant::kOneTile;
  // table, and the vllm variant of batch_invariant (BLOCK_K; may be empty). The tables are read by
  // LoadGemmTables() of sim/io, above this room.
  std::string table_path;
  std::string gpu;  // the device's name in the table; empty: the device's own name
  TableLayout layout = TableLayout::kNt;
  bool slice_k = true;  // cta_k / warp_k warps share each tile of K; false for CUTLASS 3
  // nv_heuristics, which also has `gpu` and `layout`. LoadGemmTables() opens the library.
  std::string library;
  NvBackend backend = NvBackend::kGeneric;
  bool auto_tune = true;   // rank many candidates by the library's model of time
  int32_t candidates = 8;  // how many are asked for; with auto_tune the first depends on it
  // What a table or nv_heuristics asks; null until LoadGemmTables().
  std::shared_ptr<const GemmLookup> table;
  std::shared_ptr<const BlockKTable> block_k_table;
};

// A spec of `kind` with no key given: tile keys are 0, but for textbook.
GemmPolicySpec DefaultGemmPolicy(GemmPolicyKind kind);
// nv_heuristics: the layout when none is given. generic stands for cuBLAS, which a framework's
// linear layer calls with M = features; kernels of the others are written with M = tokens.
TableLayout UsualLayout(NvBackend backend);
// The tile that a spec asks for: its own keys, and for those that are 0
//   textbook, cutlass_splitk        16 x 128 x 64
//   stream_k                       128 x 128 x 64
//   batch_invariant                BF16 128 x 128 x 64, FP16 128 x 256 x 64, FP32 128 x 128 x 32
//                                  (batch_invariant_ops f22b1fbe, 2025-11-03)
//   batch_invariant, free_tile     16 x 128 x 64, its smallest
// deepgemm, gemv, table and nv_heuristics choose their own tiles and have no tile keys.
Tile TileOf(const GemmPolicySpec& spec, DType dtype);

struct AttentionPolicySpec {
  AttentionPolicyKind kind = AttentionPolicyKind::kTextbook;
  int32_t tile_q = 64;        // query rows (q_len * group) of one block
  int32_t tile_kv = 128;      // KV positions of one inner block
  int32_t max_split = 32;     // textbook
  int32_t split_size = 2048;  // batch_invariant: KV positions of one split, counted from token 0
  // batch_invariant: cut the cached prefix and the step's own tokens apart, each from its own
  // first position: invariant only where every chunk starts on a multiple of split_size.
  bool prefix_apart = false;
  int32_t num_splits = 0;  // fa2, fa3, cascade: 0 = heuristic; fa3: an upper bound where varlen
  bool varlen = true;      // fa3: a count per request; else one count for the step
  int32_t page_size = 16;  // fa3 (0: not paged), flashinfer, paged_v1_v2, cascade
  // flashinfer and vllm_triton: steps run from captured graphs.
  bool cuda_graph = false;
  bool tensor_cores = true;              // flashinfer: decode by the tensor-core plan
  int32_t blocks_per_sm = 2;             // flashinfer: occupancy of the CUDA-core decode kernel
  int32_t fixed_split_size = 0;          // flashinfer: KV positions of a chunk of a decode, and
  int32_t prefill_fixed_split_size = 0;  // of longer queries; 0 = searched for
  bool disable_split_kv = false;         // flashinfer
  int32_t segments = 0;                  // vllm_triton: 1 = never split; 0 = 16, or 64 on SM120
  int32_t max_kv_splits = 8;             // sglang_triton
  bool static_kv_splits = false;         // sglang_triton: max_kv_splits for everybody
  int32_t split_tile_size = 0;           // sglang_triton: > 0: one split for so many positions
};

// The keys that `kind` uses: any other one that is given is an error of the file or command.
const std::vector<std::string>& AttentionPolicyKeys(AttentionPolicyKind kind);

struct NormPolicySpec {
  NormPolicyKind kind = NormPolicyKind::kNormInvariant;
};

struct AllReducePolicySpec {
  AllReducePolicyKind kind = AllReducePolicyKind::kOneShot;
  // ring: contiguous parts of the message, and bytes of a chunk. NCCL's Simple protocol has buffers
  // of 4 MiB in 8 steps, 4 steps a chunk: 2 MiB (5067397c, 2026-06-11).
  int32_t channels = 1;
  int32_t chunk_bytes = 2097152;
  // vllm, sglang: every pair of ranks has NVLink; NCCL's symmetric memory is on; and what takes the
  // messages that the engine's own kernels leave (ring, tree or exact).
  bool nvlink_mesh = true;
  bool nccl_symm_mem = false;
  AllReducePolicyKind fallback = AllReducePolicyKind::kRing;
  // one_shot_up_to: bytes of all ranks' messages together, up to which one shot is taken.
  int32_t max_bytes = 1048576;
};

struct MoePolicySpec {
  MoePolicyKind kind = MoePolicyKind::kMoeVllm;
};

struct PolicySpec {
  std::string name = "textbook";  // the preset's or file's name, for show
  GemmPolicySpec gemm;
  AttentionPolicySpec attention;
  NormPolicySpec norm;
  AllReducePolicySpec allreduce;
  MoePolicySpec moe;
};

const char* PolicyName(GemmPolicyKind kind);
const char* PolicyName(AttentionPolicyKind kind);
const char* PolicyName(NormPolicyKind kind);
const char* PolicyName(AllReducePolicyKind kind);
// The words of the keys `mode`, `arch`, `variant`, `layout` and `backend`.
const char* ModeName(SplitKMode mode);
const char* ModeName(StreamKMode mode);
const char* ArchName(DeepGemmArch arch);
const char* VariantName(InvariantVariant variant);
const char* LayoutName(TableLayout layout);
const char* BackendName(NvBackend backend);
const char* PolicyName(MoePolicyKind kind);

// Every kind, in the order of documentation.
const std::vector<AttentionPolicyKind>& AllAttentionPolicies();
const std::vector<AllReducePolicyKind>& AllAllReducePolicies();

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_POLICY_SPEC_H_
