"""One-line mistakes in the CUDA kernels, and the test that has to see each of them."""

from collections import namedtuple

# `old` occurs once in `file`; `test` is a GoogleTest of kernels_simt_gemm_test that must fail.
Mutation = namedtuple("Mutation", "name file old new test")

TILE = "kernels/cuda/gemm_tile.cuh"
MMA = "kernels/cuda/gemm_mma.cu"
FMA = "kernels/cuda/gemm_fma.cu"
GEMV = "kernels/cuda/gemv.cu"
WGMMA = "kernels/cuda/gemm_wgmma.cu"
COMBINE = "kernels/cuda/combine.cu"
EQUALS = "CudaGemm.EqualsTheDefinitionAndTheCpuExecutor"
COMBINES = "CudaGemm.EveryCombineMatters"
UNITS = "CudaGemm.NeitherTilesNorUnitsNorThreadsChangeABit"
STAGES = "CudaGemm.LongChainsGoAroundTheRingOfStages"
ENDS = "CudaGemm.AnFmaChainAddsNothingBeyondItsEnd"
RING = "CudaGemm.WgmmaGoesAroundTheRingOfStages"
WGMMA_EQUALS = "CudaGemm.WgmmaEqualsTheDefinitionAndMmaSync"
LANES = "CudaGemm.LanesOfAGemvMeetBeyondAWarp"

MUTATIONS = [
    Mutation("the partial sums are added from the last one down", COMBINE,
             "for (int32_t p = 1; p < item.pieces; ++p) "
             "sum = __fadd_rn(sum, PieceSum(partials, item, p));",
             "for (int32_t p = 1; p < item.pieces; ++p) "
             "sum = __fadd_rn(sum, PieceSum(partials, item, item.pieces - p));", COMBINES),
    Mutation("no barrier before a stage is read", MMA,
             "ptx::CpAsyncWait<kStages - 2>();\n    __syncthreads();",
             "ptx::CpAsyncWait<kStages - 2>();", STAGES),
    Mutation("one copy too many may be under way", MMA,
             "ptx::CpAsyncWait<kStages - 2>();", "ptx::CpAsyncWait<kStages - 1>();", STAGES),
    Mutation("no barrier between two items of a unit", MMA,
             "__syncthreads();  // the next item overwrites the stages", "", UNITS),
    Mutation("the second run of a slice begins where the first one ended", TILE,
             "first_ += step_;", "first_ += run_;", EQUALS),
    Mutation("a piece begins 8 further on", TILE,
             "k_(item.k_begin) {}", "k_(item.k_begin + 8) {}", EQUALS),
    Mutation("a piece runs into the next one", TILE,
             "k_end - k < kChunkWords ? k_end - k : kChunkWords", "kChunkWords", EQUALS),
    Mutation("every piece writes to one slot", TILE,
             "static_cast<int64_t>(item.slot) * arguments.m", "int64_t{0} * arguments.m", COMBINES),
    Mutation("partial sums are rounded once more", COMBINE,
             "return RoundTo(sum, item.partial);",
             "return RoundTo(RoundTo(sum, DType::kBf16), item.partial);", COMBINES),
    Mutation("a running sum in 16 bits is rounded at the end only", COMBINE,
             "sum = RoundTo(__fadd_rn(sum, PieceSum(partials, item, p)), output);",
             "sum = __fadd_rn(sum, PieceSum(partials, item, p));", COMBINES),
    Mutation("a pairwise sum adds its longest stretch first", COMBINE,
             "if ((count_ >> l & 1) == 0) continue;\n      total = "
             "begun ? __fadd_rn(level_[l], total) : level_[l];",
             "const int m = kPairwiseLevels - 1 - l;\n      if ((count_ >> m & 1) == 0) continue;\n"
             "      total = begun ? __fadd_rn(level_[m], total) : level_[m];", COMBINES),
    Mutation("slices of a butterfly are taken in their own order", COMBINE,
             "sum.Add(partials.At(at));", "sum.Add(partials.At(i));", EQUALS),
    Mutation("the halves of w's fragment are exchanged", MMA,
             "b[2 * j][0] = four[0], b[2 * j][1] = four[1];",
             "b[2 * j][0] = four[1], b[2 * j][1] = four[0];", EQUALS),
    Mutation("the narrow instruction takes its upper half first", MMA,
             "ptx::MmaK8<kType>(sums->value[i][j], a[0], a[1], b[j][0]);\n"
             "        ptx::MmaK8<kType>(sums->value[i][j], a[2], a[3], b[j][1]);",
             "ptx::MmaK8<kType>(sums->value[i][j], a[2], a[3], b[j][1]);\n"
             "        ptx::MmaK8<kType>(sums->value[i][j], a[0], a[1], b[j][0]);", EQUALS),
    Mutation("a tile is summed from its last step down", MMA,
             "x_tile + Shape::kTileM * Shape::kTileK, step, warp_m",
             "x_tile + Shape::kTileM * Shape::kTileK, Shape::kTileK / 16 - 1 - step, warp_m",
             STAGES),
    Mutation("shared memory is not swizzled", TILE,
             "((chunk ^ turn) * kChunkWords)", "((chunk ^ turn * 0) * kChunkWords)", EQUALS),
    Mutation("missing products are added as zeros", FMA,
             "if (!kWhole && k >= valid) continue;", "", ENDS),
    Mutation("near lanes meet first", GEMV,
             "__shfl_xor_sync(0xFFFFFFFF, sums[r], distance)",
             "__shfl_xor_sync(0xFFFFFFFF, sums[r], (lanes < 32 ? lanes : 32) / 2 / distance)",
             LANES),
    Mutation("no barrier between two rounds of lanes", GEMV,
             "__syncthreads();  // before the next round overwrites what a partner still reads", "",
             LANES),
    Mutation("a stage is freed while wgmma reads it", WGMMA,
             "ptx::MbarrierArrive(&barriers->empty[before]);\n    before = place->stage;",
             "ptx::MbarrierArrive(&barriers->empty[place->stage]);\n    before = place->stage;",
             RING),
    Mutation("sums are stored before the last group of wgmma has ended", WGMMA,
             "ptx::WgmmaWait<0>();", "ptx::WgmmaWait<1>();", RING),
    Mutation("the consumers do not wait for the copies", WGMMA,
             "ptx::MbarrierWait(&barriers->full[place->stage], place->round & 1);", "", RING),
    Mutation("the producer does not wait for the consumers", WGMMA,
             "ptx::MbarrierWait(&barriers->empty[place.stage], (place.round & 1) ^ 1);", "", RING),
    Mutation("both consumers take the upper rows", WGMMA,
             "x_tile + consumer * 64 * kTileK", "x_tile + consumer * 0 * kTileK", WGMMA_EQUALS),
]
